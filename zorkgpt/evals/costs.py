"""What the runs of each ablation took: calls, tokens and cost by role, and time by part."""

from collections import Counter
from collections.abc import Iterable, Mapping

from session.stopwatch import Part
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import RoleUsage, RunFigures
from zorkgpt.llm.roles import Role

OUTSIDE = "before the first turn, after the last, and pauses"
"""The time of an episode that lies outside its turns."""
_ASKED_IN: dict[str, Part] = {
    Role.AGENT: Part.PLAYER,
    Role.CRITIC: Part.PLAYER,
    Role.EXTRACTOR: Part.EXTRACTION,
    Role.MEMORY: Part.MEMORY,
    Role.OBJECTIVES: Part.MANAGERS,
    Role.KNOWLEDGE: Part.MANAGERS,
    Role.SUMMARY: Part.MANAGERS,
}
"""The part that waits for the model of a role."""


def usage_by_role(runs: Iterable[RunFigures]) -> dict[tuple[Ablation, str], RoleUsage]:
    """Return what each role has used, in all runs of an ablation together."""
    total: dict[tuple[Ablation, str], RoleUsage] = {}
    for run in runs:
        for one in run.episodes:
            for role, usage in one.usage.items():
                key = run.run.ablation, role
                total[key] = total.get(key, RoleUsage()).plus(usage)
    return total


def ms_by_part(runs: Iterable[RunFigures]) -> dict[Ablation, dict[str, float]]:
    """Return the milliseconds a turn of each part, without the models that it asked, and of the models by role.

    They add up to the whole time of the episodes. Ablations whose logs do not tell are left out.
    """
    seconds: dict[Ablation, Counter[str]] = {}
    turns: Counter[Ablation] = Counter()
    for run in runs:
        for one in run.episodes:
            if one.parts_s:
                waited = {role: usage.seconds for role, usage in one.usage.items()}
                seconds.setdefault(run.run.ablation, Counter()).update(_apart(one.parts_s, waited, one.seconds))
                turns[run.run.ablation] += one.turns
    return {
        ablation: {name: 1000 * found / turns[ablation] for name, found in parts.items()}
        for ablation, parts in seconds.items()
        if turns[ablation]
    }


def _apart(parts_s: Mapping[str, float], waited_s: Mapping[str, float], whole_s: float) -> dict[str, float]:
    """Take the waiting for models out of the parts that waited, and add what lies outside the turns."""
    apart = {part.value: parts_s.get(part, 0.0) for part in Part}
    for role, seconds in waited_s.items():
        part = _ASKED_IN.get(role, Part.MANAGERS)
        # Some is asked before the first turn and after the last, which belong to no part.
        apart[part] = max(0.0, apart[part] - seconds)
    models = {f"model, {role}": seconds for role, seconds in waited_s.items()}
    known = sum(apart.values()) + sum(models.values())
    return apart | models | {OUTSIDE: max(0.0, whole_s - known)}
