"""Merges the knowledge of several episodes that began with the same document, as if played one after another."""

from collections.abc import Iterable

from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.revision import ProposedLine, Revision, line_key, relation
from zorkgpt.knowledge.updater import TRIES_TO_STRIKE

_REASON = "contradicted in several episodes"


def merge_knowledge(base: KnowledgeDocument, found: Iterable[tuple[int, KnowledgeDocument]]) -> KnowledgeDocument:
    """Return the document with what each episode has learned beyond it, in their order.

    What says the same counts as borne out once more, and so does the evidence that later turns gave. A line that
    contradictions have struck in one episode stays where any other has borne it out.
    """
    merged = base
    for episode, document in found:
        revision = Revision(merged)
        known = {line_key(line): line for line in base.lines}
        reworded = [line for line in base.lines if line_key(line) not in {line_key(each) for each in document.lines}]
        for line in document.lines:
            before = known.get(line_key(line)) or next((one for one in reworded if _is_reworded(one, line)), None)
            _take_in(revision, before, line)
        merged = revision.document
        if processed := document.processed.get(str(episode)):
            merged = merged.with_processed(episode, processed)
    return merged


def _take_in(revision: Revision, before: KnowledgeLine | None, line: KnowledgeLine) -> None:
    """Take in a line of an episode.

    Args:
        before: what it was when the episode began; None: it is new.
    """
    borne_out, contradicted = line.borne_out, line.contradicted
    if before is not None:
        borne_out, contradicted = borne_out - before.borne_out, contradicted - before.contradicted
    if before is None or line_key(before) != line_key(line):
        revision.learn(ProposedLine(line.section, line.text, line.episode, line.first_turn, line.last_turn))
    if borne_out > 0 or contradicted > 0:
        enough = 1 if line.struck else TRIES_TO_STRIKE
        revision.add_evidence(line.text, max(0, borne_out), max(0, contradicted), line.reason or _REASON, enough)


def _is_reworded(before: KnowledgeLine, line: KnowledgeLine) -> bool:
    """Return whether a line has the origin of one that was there, and says more."""
    one, other = ((each.section, each.episode, each.first_turn, each.last_turn) for each in (before, line))
    return one == other and relation(before.text, line.text) == "adds"
