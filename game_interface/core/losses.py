"""Detect the player's losses on a turn: life, points or things."""

from dataclasses import dataclass

from game_interface.core.names import heading_in
from game_interface.core.observe import ViewReader
from game_interface.core.revealed import WORD, NamedThings
from game_interface.core.transcript import last_words
from game_interface.core.zmachine import View
from game_interface.models import Item, Transition
from zorkgpt.memory.losses import Loss, LossKind


@dataclass(frozen=True, slots=True)
class DetectedLoss:
    """A loss whose cause is not known yet."""

    loss: Loss
    """The loss without a cause."""
    lost: frozenset[int]
    """The object numbers of the lost things."""
    creature: Item | None
    """The creature that holds a lost thing, or that the response names."""
    holds_it: bool
    """Whether the creature holds a lost thing."""
    is_ahead: bool
    """Whether the creature was not visible before the turn."""


@dataclass(frozen=True, slots=True)
class LossDetector:
    """Detects losses in a story's turns."""

    reader: ViewReader
    named: NamedThings

    def detect(self, step: Transition, after: View, command: str) -> DetectedLoss | None:
        """Return the loss on a turn. None if there is none.

        Args:
            after: The story's memory after the turn.
            command: The command that was played.
        """
        things = self._things_lost(step, after, command)
        if not (step.died or step.points < 0 or things):
            return None
        sentence, holder = last_words(step.response), None
        if step.died:
            loss = Loss(LossKind.DEATH, sentence=sentence)
        elif step.points < 0:
            loss = Loss(LossKind.POINTS, sentence=sentence, points=-step.points)
        else:
            loss = Loss(LossKind.THINGS, sentence=sentence, things=tuple(item.name for item in things))
            holder = self._living_holder(after, things)
        creature = holder or self._creature_named(step, after)
        return DetectedLoss(
            loss,
            lost=frozenset(item.num for item in things),
            creature=creature,
            holds_it=holder is not None,
            is_ahead=creature is not None and creature.num not in {item.num for item in step.before.creatures or ()},
        )

    def _things_lost(self, step: Transition, after: View, command: str) -> tuple[Item, ...]:
        """Return the directly held things that are now out of reach, except those that the command names."""
        if not step.before.inventory or step.after.location is None or step.died or step.finished:
            return ()
        held = {item.num for item in step.after.inventory or ()}
        gone = [item for item in step.before.inventory if item.num not in held]
        named = self.named.in_text(command) if gone else frozenset[int]()
        return tuple(item for item in gone if item.num not in named and self._is_out_of_reach(after, item.num))

    def _is_out_of_reach(self, view: View, number: int) -> bool:
        """Return whether an object is neither carried nor in the player's room, or is held by a creature."""
        player, room = self.reader.profile.player, self.reader.room(view)
        for holder in view.ancestors(number):
            if holder in (player, room):
                return False
            if self.reader.profile.has(view, holder, "animate"):
                return True
        return True

    def _living_holder(self, view: View, things: tuple[Item, ...]) -> Item | None:
        for number in sorted(item.num for item in things):
            holder = view.parent(number)
            if holder and self.reader.profile.has(view, holder, "animate"):
                return self.reader.item(view, holder)
        return None

    def _creature_named(self, step: Transition, after: View) -> Item | None:
        """Return the last creature that the response names.

        It must be visible, or in the room whose heading starts the response. The player walked to that room, but may
        have been moved elsewhere after dying.
        """
        visible = {item.num: item for item in step.before.creatures or ()}
        if step.before.location == step.after.location:
            visible |= {item.num: item for item in step.after.creatures or ()}
        heading = heading_in(step.response.strip().partition("\n")[0])
        for word in reversed(WORD.findall(last_words(step.response))):
            named = sorted(self.named.in_text(word))
            for number in named:
                if number in visible:
                    return visible[number]
            for number in named:
                if heading and self._is_creature_in(after, number, heading):
                    return self.reader.item(after, number)
        return None

    def _is_creature_in(self, view: View, number: int, heading: str) -> bool:
        if number == self.reader.profile.player or not self.reader.profile.has(view, number, "animate"):
            return False
        return any(self.reader.names.shown(view, holder) == heading for holder in view.ancestors(number))
