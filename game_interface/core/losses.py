"""Detect what the player lost in a turn: life, points or things."""

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
    """The object numbers of the things that were lost."""
    creature: Item | None
    """The creature that the response names, or that holds what was lost."""
    holds_it: bool
    """The creature holds what was lost."""
    is_ahead: bool
    """The creature was not where the player was: the command has led to it, or it has come."""


@dataclass(frozen=True, slots=True)
class LossDetector:
    """Detects losses in the turns of one story."""

    reader: ViewReader
    named: NamedThings

    def detect(self, step: Transition, after: View, command: str) -> DetectedLoss | None:
        """Return the loss of a turn; None if there is none.

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
        """Return the things that the player held directly and that are gone, unless the command names them."""
        if not step.before.inventory or step.after.location is None or step.died or step.finished:
            return ()
        named = self.named.in_text(command)
        return tuple(
            item for item in step.before.inventory if item.num not in named and self._is_out_of_reach(after, item.num)
        )

    def _is_out_of_reach(self, view: View, number: int) -> bool:
        """Return whether an object is neither carried nor at the player's place, or is held by a creature."""
        player, room = self.reader.profile.player, self.reader.room(view)
        for holder in view.ancestors(number):
            if holder in (player, room):
                return False
            if self.reader.profile.has(view, holder, "animate"):
                return True
        return True

    def _living_holder(self, view: View, things: tuple[Item, ...]) -> Item | None:
        """Return the creature that holds one of these things."""
        for number in sorted(item.num for item in things):
            holder = view.parent(number)
            if holder and self.reader.profile.has(view, holder, "animate"):
                return self.reader.item(view, holder)
        return None

    def _creature_named(self, step: Transition, after: View) -> Item | None:
        """Return the creature that the response names, the last one if there are several.

        The creature is at the player's place, or at the place whose heading starts the response: the player walked
        there, and a death may have moved it elsewhere.
        """
        there = {item.num: item for item in step.before.creatures or ()}
        if step.before.location == step.after.location:
            there |= {item.num: item for item in step.after.creatures or ()}
        heading = heading_in(step.response.strip().partition("\n")[0])
        for word in reversed(WORD.findall(last_words(step.response))):
            named = sorted(self.named.in_text(word))
            for number in named:
                if number in there:
                    return there[number]
            for number in named:
                if heading and self._is_creature_at(after, number, heading):
                    return self.reader.item(after, number)
        return None

    def _is_creature_at(self, view: View, number: int, heading: str) -> bool:
        """Return whether an object is a creature, and at the place of this name."""
        if number == self.reader.profile.player or not self.reader.profile.has(view, number, "animate"):
            return False
        return any(self.reader.names.shown(view, holder) == heading for holder in view.ancestors(number))
