"""The memories of a record that a Markdown file shows: their rows, and the document of the file."""

from collections.abc import Callable, Mapping

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import UNSEARCHED
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.lasting import Heading
from zorkgpt.memory.storage.rows import MemoryRows, RowDatabase
from zorkgpt.memory.storage.section import LocationSection
from zorkgpt.memory.storage.traces import Traces, document_without


class FileMemories(MemoryRows):
    """Rows that are changed together with the document that shows them.

    Args:
        read: Returns the document that shows the rows. Called when it is first needed.
    """

    def __init__(self, database: RowDatabase, read: Callable[[], Document]) -> None:
        super().__init__(database)
        self._read_document = read
        self._document: Document | None = None
        self.sections: Mapping[bytes, LocationSection] = {}
        """The sections of the last document, by their bytes, which need not be parsed again."""

    @property
    def document(self) -> Document:
        if self._document is None:
            self.show(self._read_document())
        assert self._document is not None
        return self._document

    @property
    def changed_document(self) -> Document | None:
        """The document, if it was needed since it was last dropped."""
        return self._document

    def show(self, document: Document | None) -> None:
        """Set the document. None if it must be read again."""
        self._document = document
        if document is not None:
            self.sections = {section.data: section for section in document.sections}

    def forget(self) -> None:
        super().forget()
        self.show(None)

    def applied(self, step: Step) -> "FileMemories":
        if step.location_id in UNSEARCHED:
            super().applied(step)
            return self
        document = self.document
        super().applied(step)
        self._document = document.showing(step)
        return self

    def apply_to_rows(self, step: Step) -> None:
        """Change only the rows, because the file shows the change already."""
        super().applied(step)

    def rewritten(self, document: Document) -> "FileMemories":
        super().rewritten(document)
        self._document = document.completed
        return self

    def headed(self, place: SubjectKey, heading: Heading | None) -> "FileMemories":
        document = self.document
        super().headed(place, heading)
        self._document = document.headed(place, heading)
        return self

    def moved(self, old: SubjectKey, new: SubjectKey) -> "FileMemories":
        document = self.document
        super().moved(old, new)
        self._document = document.moved(old, new)
        return self

    def erased(self, traces: Traces) -> "FileMemories":
        document = self.document
        super().erased(traces)
        self._document = document_without(document, traces)
        return self
