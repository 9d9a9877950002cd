"""The tables of a memory's record, on SQLite and on PostgreSQL.

In these statements, `{key}` is the database's type for ascending row numbers, `{position}` for those that no later row
gets again, `{blob}` that of bytes, `{bytewise}` what makes a text be compared by its bytes, and `{clustered}` what
stores a table in the order of its key.
"""

from zorkgpt.memory.places import UNSEARCHED_COLUMN
from zorkgpt.memory.storage.history import PERSON_SOURCES
from zorkgpt.record.events import EVENTS_SCHEMA

VISITED, ENDED = "visited", "ended"
"""The kinds of the journal's rows about visits, and about ends of turns."""
IS_CHANGE = "memory != ''"
BY_PERSON = f"source IN ({', '.join(map(repr, PERSON_SOURCES))})"
"""The condition of an index. Databases use the index only for exactly this condition."""
IS_SEARCHED = f"{IS_CHANGE} AND place < '{UNSEARCHED_COLUMN}'"
"""The condition for changes of memories that are searched."""

_STATE = """
CREATE TABLE zorkgpt_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    format integer NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    memories bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    episodes bigint NOT NULL DEFAULT 0,
    subject text NOT NULL DEFAULT ''
);
INSERT INTO zorkgpt_state (format) VALUES (1);
"""
"""SQLite keeps the revision and the counts; PostgreSQL doesn't. Only PostgreSQL uses the format."""

_MEMORIES = """
CREATE TABLE zorkgpt_places (
    number {key},
    place text {bytewise} NOT NULL UNIQUE,
    name text NOT NULL,
    visits bigint NOT NULL,
    episodes text NOT NULL
);
CREATE TABLE zorkgpt_memories (
    number {key},
    place text {bytewise} NOT NULL,
    id text {bytewise} NOT NULL UNIQUE,
    category text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    superseded_by text,
    invalidation_reason text,
    action text NOT NULL,
    outcome text NOT NULL,
    turns text NOT NULL,
    persistence text NOT NULL,
    status text NOT NULL,
    kind text,
    expires_at text {bytewise},
    valid_from text,
    created_at bigint,
    updated_at bigint,
    source text,
    score_change bigint,
    superseded_at_turn bigint,
    observation_count bigint NOT NULL,
    tried bigint NOT NULL,
    worked bigint NOT NULL,
    died bigint NOT NULL,
    pinned integer NOT NULL,
    vetoed integer NOT NULL,
    edited_by_person integer NOT NULL,
    episode text {bytewise} NOT NULL,
    first_episode text {bytewise},
    superseded_in_episode text,
    claims text,
    conditions text,
    metadata text,
    folded_title text {bytewise} NOT NULL,
    is_current integer NOT NULL,
    text_key {blob} NOT NULL,
    said text NOT NULL,
    words bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE INDEX zorkgpt_memories_order ON zorkgpt_memories
    (place, number, is_current, vetoed, status, updated_at, persistence, category, kind, episode, first_episode);
CREATE INDEX zorkgpt_memories_title ON zorkgpt_memories (folded_title, place);
CREATE INDEX zorkgpt_memories_expires ON zorkgpt_memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX zorkgpt_memories_updated ON zorkgpt_memories (updated_at);
CREATE INDEX zorkgpt_memories_revision ON zorkgpt_memories (revision);
CREATE INDEX zorkgpt_memories_text ON zorkgpt_memories (text_key);
CREATE TABLE zorkgpt_metadata (
    mark text {bytewise} NOT NULL,
    place text {bytewise} NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (mark, place, number)
){clustered};
"""
"""In every table, `place` has the format of `column_of`, and times are microseconds since 1970.

`zorkgpt_metadata` has a mark for each value of a memory's metadata.
"""

_JOURNAL = f"""
CREATE TABLE zorkgpt_journal (
    id {{position}},
    place text {{bytewise}} NOT NULL,
    source text NOT NULL,
    episode text,
    memory text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    at bigint,
    record text NOT NULL,
    turn_episode text,
    turn bigint,
    reverted_by text,
    title text {{bytewise}}
);
CREATE INDEX zorkgpt_journal_place ON zorkgpt_journal (place, id);
CREATE INDEX zorkgpt_journal_at ON zorkgpt_journal (at, id);
CREATE INDEX zorkgpt_journal_title ON zorkgpt_journal (title) WHERE title IS NOT NULL;
CREATE INDEX zorkgpt_journal_memory ON zorkgpt_journal (memory, kind, id);
CREATE INDEX zorkgpt_journal_by_person ON zorkgpt_journal (id) WHERE {BY_PERSON};
CREATE INDEX zorkgpt_journal_episode ON zorkgpt_journal (episode, id) WHERE episode IS NOT NULL;
CREATE INDEX zorkgpt_journal_turn ON zorkgpt_journal (turn_episode, id) WHERE turn_episode IS NOT NULL;
CREATE INDEX zorkgpt_journal_reverted ON zorkgpt_journal (id) WHERE kind = 'reverted';
CREATE INDEX zorkgpt_journal_ended ON zorkgpt_journal (id) WHERE kind = '{ENDED}';
CREATE TABLE zorkgpt_judgments (
    id {{key}},
    key text NOT NULL UNIQUE,
    answer text NOT NULL
);
"""
"""`zorkgpt_journal.episode` is the episode of an ephemeral memory, and NULL for a lasting one. `memory` is the id of a
memory. Rows of other kinds than changes have none, and those about ends of turns have no place either. `record` has
what no column has, as JSON: see `content_of`. `turn_episode` and `turn` are the turn of a change, and NULL if it was
made between two turns. `reverted_by` is the source of what has reverted a change. `title` is the folded title by which
the change is found, if `zorkgpt_memories` may not have it: that of an ephemeral memory, or the former one of a memory
that was removed or renamed.
"""

VECTORS = """
CREATE TABLE zorkgpt_vectors (
    id {key},
    model text NOT NULL,
    key blob NOT NULL,
    vector blob NOT NULL,
    UNIQUE (model, key)
);
"""
"""Vectors in SQLite. PostgreSQL uses pgvector instead."""

_SHOWN = """
CREATE TABLE zorkgpt_shown (
    number {key},
    digest text NOT NULL,
    position bigint NOT NULL,
    is_shown integer NOT NULL
);
CREATE INDEX zorkgpt_shown_digest ON zorkgpt_shown (digest);
"""
"""The contents of a Markdown file. See `markdown`."""

_FULL_TEXT = """
CREATE VIRTUAL TABLE zorkgpt_words USING fts5 (
    said, content = zorkgpt_memories, content_rowid = number, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE zorkgpt_vocabulary USING fts5vocab ('zorkgpt_words', 'row');
CREATE TRIGGER zorkgpt_words_added AFTER INSERT ON zorkgpt_memories BEGIN
    INSERT INTO zorkgpt_words (rowid, said) VALUES (new.number, new.said);
    UPDATE zorkgpt_state SET memories = memories + 1, words = words + new.words;
END;
CREATE TRIGGER zorkgpt_words_removed AFTER DELETE ON zorkgpt_memories BEGIN
    INSERT INTO zorkgpt_words (zorkgpt_words, rowid, said) VALUES ('delete', old.number, old.said);
    UPDATE zorkgpt_state SET memories = memories - 1, words = words - old.words;
END;
CREATE TRIGGER zorkgpt_words_changed AFTER UPDATE OF said ON zorkgpt_memories
WHEN old.said != new.said BEGIN
    INSERT INTO zorkgpt_words (zorkgpt_words, rowid, said) VALUES ('delete', old.number, old.said);
    INSERT INTO zorkgpt_words (rowid, said) VALUES (new.number, new.said);
    UPDATE zorkgpt_state SET words = words - old.words + new.words;
END;
"""
"""The index of the words of memories, and the counts for relevance."""

_RECORD = _STATE + _MEMORIES + _JOURNAL + EVENTS_SCHEMA
SQLITE = _RECORD + VECTORS + _SHOWN + _FULL_TEXT
POSTGRES = f"""{_RECORD}
CREATE INDEX zorkgpt_memories_said ON zorkgpt_memories USING gin (string_to_array(said, ' ')) WITH (fastupdate = off);
"""
