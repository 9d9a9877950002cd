CREATE TABLE zorkgpt_journal (
    id INTEGER PRIMARY KEY,
    place text NOT NULL,
    source text NOT NULL,
    episode text,
    memory text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    at text NOT NULL DEFAULT '',
    record text NOT NULL
);
INSERT INTO "zorkgpt_journal" VALUES(1,'9','agent',NULL,'e94f70b5','added','2026-11-28T18:03:51.616998+00:00','{"at": "2026-11-28T18:03:51.616998+00:00", "kind": "added", "source": "agent", "location_id": 9, "location_name": "Attic", "before": null, "after": {"category": "NOTE", "title": "Rope", "episode": 1, "turns": "2", "score_change": 0, "text": "A rope lies here.", "persistence": "core", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "reason": null}');
INSERT INTO "zorkgpt_journal" VALUES(2,'5','agent',NULL,'8f8416b1','added','2026-11-28T18:03:51.633658+00:00','{"at": "2026-11-28T18:03:51.633658+00:00", "kind": "added", "source": "agent", "location_id": 5, "location_name": "Hall", "before": null, "after": {"category": "DISCOVERY", "title": "Rug", "episode": 3, "turns": "12", "score_change": null, "text": "The rug hides a trap door.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "kind": "rule", "metadata": {"user": 7}}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(3,'5','agent',NULL,'6dbf3838','added','2026-11-28T18:03:51.663765+00:00','{"at": "2026-11-28T18:03:51.663765+00:00", "kind": "added", "source": "agent", "location_id": 5, "location_name": "Hall", "before": null, "after": {"category": "NOTE", "title": "Lamp", "episode": 3, "turns": "12", "score_change": null, "text": "The lamp is bright.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(4,'["acme", "user-7"]','agent',NULL,'26bcd52c','added','2026-11-28T18:03:51.689929+00:00','{"at": "2026-11-28T18:03:51.689929+00:00", "kind": "added", "source": "agent", "location_id": ["acme", "user-7"], "location_name": "", "before": null, "after": {"category": "NOTE", "title": "Hours", "episode": 3, "turns": "12", "score_change": null, "text": "The shop opens at nine.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(5,'["acme", "user-7"]','agent',NULL,'954bfed9','added','2026-11-28T18:03:51.722299+00:00','{"at": "2026-11-28T18:03:51.722299+00:00", "kind": "added", "source": "agent", "location_id": ["acme", "user-7"], "location_name": "", "before": null, "after": {"category": "NOTE", "title": "Hours", "episode": 3, "turns": "12", "score_change": null, "text": "The shop opens at ten.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "id": "954bfed9"}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(6,'["acme", "user-7"]','agent',NULL,'26bcd52c','superseded','2026-11-28T18:03:51.722299+00:00','{"at": "2026-11-28T18:03:51.722299+00:00", "kind": "superseded", "source": "agent", "location_id": ["acme", "user-7"], "location_name": "", "before": {"category": "NOTE", "title": "Hours", "episode": 3, "turns": "12", "score_change": null, "text": "The shop opens at nine.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "after": {"category": "NOTE", "title": "Hours", "episode": 3, "turns": "12", "score_change": null, "text": "The shop opens at nine.", "persistence": "permanent", "status": "SUPERSEDED", "superseded_by": "Hours", "superseded_at_turn": 12, "invalidation_reason": null, "observation_count": 1}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(7,'5','agent',NULL,'1c680d13','added','2026-11-28T18:03:51.772769+00:00','{"at": "2026-11-28T18:03:51.772769+00:00", "kind": "added", "source": "agent", "location_id": 5, "location_name": "Hall", "before": null, "after": {"category": "NOTE", "title": "Troll", "episode": 3, "turns": "12", "score_change": null, "text": "The troll is friendly.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "reason": null, "episode": 3, "turn": 12}');
INSERT INTO "zorkgpt_journal" VALUES(8,'5','person',NULL,'6dbf3838','pinned','2026-11-28T18:03:51.800580+00:00','{"at": "2026-11-28T18:03:51.800580+00:00", "kind": "pinned", "source": "person", "location_id": 5, "location_name": "Hall", "before": {"category": "NOTE", "title": "Lamp", "episode": 3, "turns": "12", "score_change": null, "text": "The lamp is bright.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "after": {"category": "NOTE", "title": "Lamp", "episode": 3, "turns": "12", "score_change": null, "text": "The lamp is bright.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "pinned": true}, "reason": null}');
INSERT INTO "zorkgpt_journal" VALUES(9,'5','person',NULL,'1c680d13','vetoed','2026-11-28T18:03:51.829292+00:00','{"at": "2026-11-28T18:03:51.829292+00:00", "kind": "vetoed", "source": "person", "location_id": 5, "location_name": "Hall", "before": {"category": "NOTE", "title": "Troll", "episode": 3, "turns": "12", "score_change": null, "text": "The troll is friendly.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1}, "after": {"category": "NOTE", "title": "Troll", "episode": 3, "turns": "12", "score_change": null, "text": "The troll is friendly.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "vetoed": true}, "reason": null}');
INSERT INTO "zorkgpt_journal" VALUES(10,'5','person',NULL,'8f8416b1','edited','2026-11-28T18:03:51.861303+00:00','{"at": "2026-11-28T18:03:51.861303+00:00", "kind": "edited", "source": "person", "location_id": 5, "location_name": "Hall", "before": {"category": "DISCOVERY", "title": "Rug", "episode": 3, "turns": "12", "score_change": null, "text": "The rug hides a trap door.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "kind": "rule", "metadata": {"user": 7}}, "after": {"category": "DISCOVERY", "title": "Rug", "episode": 3, "turns": "12", "score_change": null, "text": "The rug hides a door.", "persistence": "permanent", "status": "ACTIVE", "superseded_by": null, "superseded_at_turn": null, "invalidation_reason": null, "observation_count": 1, "kind": "rule", "metadata": {"user": 7}}, "reason": null}');
CREATE TABLE zorkgpt_judgments (
    id INTEGER PRIMARY KEY,
    key text NOT NULL UNIQUE,
    answer text NOT NULL
);
CREATE TABLE zorkgpt_memories (
    id INTEGER PRIMARY KEY,
    place text  NOT NULL,
    section bigint NOT NULL,
    memory text NOT NULL,
    title text NOT NULL,
    is_current integer NOT NULL,
    expires_at text ,
    revision bigint NOT NULL,
    text_key blob NOT NULL,
    entry blob NOT NULL,
    lead blob NOT NULL
);
INSERT INTO "zorkgpt_memories" VALUES(1,'01000000000000000009',3,'e94f70b5','rope',1,NULL,1,X'068D224FA558A7747358BCEE278A6AEA',X'2A2A5B4E4F5445202D20434F52455D20526F70652A2A202A284570312C2054322C202B30292A0A4120726F7065206C69657320686572652E0A',X'');
INSERT INTO "zorkgpt_memories" VALUES(2,'01000000000000000005',4,'8f8416b1','rug',1,NULL,9,X'7888F07ECA5B669BBAD50CCB314F7F04',X'2A2A5B444953434F56455259202D205045524D414E454E545D205275672A2A202A284570332C205431322C206B696E643A2072756C652C206D657461646174613A207B5C22757365725C223A20377D292A0A54686520727567206869646573206120646F6F722E0A',X'');
INSERT INTO "zorkgpt_memories" VALUES(3,'01000000000000000005',4,'6dbf3838','lamp',1,NULL,7,X'B23FB73B6E5177E4B753A67FB158362A',X'2A2A5B4E4F5445202D205045524D414E454E545D204C616D702A2A202A284570332C205431322C2070696E6E6564292A0A546865206C616D70206973206272696768742E0A',X'0A');
INSERT INTO "zorkgpt_memories" VALUES(4,'21acme1user-7',5,'26bcd52c','hours',0,NULL,5,X'1CBA0FCF7729E2D790EC4F236B88030B',X'2A2A5B4E4F5445202D205045524D414E454E54202D20535550455253454445445D20486F7572732A2A202A284570332C20543132292A0A5B53757065727365646564206174205431322062792022486F757273225D0A7E7E5468652073686F70206F70656E73206174206E696E652E7E7E0A',X'');
INSERT INTO "zorkgpt_memories" VALUES(5,'21acme1user-7',5,'954bfed9','hours',1,NULL,5,X'72364CBD712BC93F593A14D6BE1ED4A1',X'2A2A5B4E4F5445202D205045524D414E454E545D20486F7572732A2A202A284570332C205431322C206964203935346266656439292A0A5468652073686F70206F70656E732061742074656E2E0A',X'0A');
INSERT INTO "zorkgpt_memories" VALUES(6,'01000000000000000005',4,'1c680d13','troll',0,NULL,8,X'4EB18989CC15BAC27BA18E4D7A60B646',X'2A2A5B4E4F5445202D205045524D414E454E545D2054726F6C6C2A2A202A284570332C205431322C207665746F6564292A0A5468652074726F6C6C20697320667269656E646C792E0A',X'0A');
CREATE TABLE zorkgpt_sections (
    id INTEGER PRIMARY KEY,
    position bigint,
    place text ,
    head blob NOT NULL,
    tail blob NOT NULL
);
INSERT INTO "zorkgpt_sections" VALUES(1,0,NULL,X'41206E6F74652061626F76652E0A0A',X'');
INSERT INTO "zorkgpt_sections" VALUES(2,1,NULL,X'23204C6F636174696F6E204D656D6F726965730A0A',X'');
INSERT INTO "zorkgpt_sections" VALUES(3,2,'01000000000000000009',X'2323204C6F636174696F6E20393A2041747469630A2A2A5669736974733A2A2A2033207C202A2A457069736F6465733A2A2A20312C20780A0A232323204D656D6F726965730A0A',X'0A4D696E653A20646F6E277420746F7563682E0A0A2D2D2D0A');
INSERT INTO "zorkgpt_sections" VALUES(4,NULL,'01000000000000000005',X'2323204C6F636174696F6E20353A2048616C6C0A2A2A5669736974733A2A2A2031207C202A2A457069736F6465733A2A2A20330A0A232323204D656D6F726965730A0A',X'0A2D2D2D0A');
INSERT INTO "zorkgpt_sections" VALUES(5,NULL,'21acme1user-7',X'2323204C6F636174696F6E205B2261636D65222C2022757365722D37225D3A0A2A2A5669736974733A2A2A2031207C202A2A457069736F6465733A2A2A20330A0A232323204D656D6F726965730A0A',X'0A2D2D2D0A');
CREATE TABLE zorkgpt_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    format integer NOT NULL,
    revision bigint NOT NULL,
    memories bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    episodes bigint NOT NULL DEFAULT 0,
    subject text NOT NULL DEFAULT ''
);
INSERT INTO "zorkgpt_state" VALUES(1,1,9,6,43,0,'');
CREATE TABLE zorkgpt_trials (
    id INTEGER PRIMARY KEY,
    machine text NOT NULL,
    episode text NOT NULL,
    record text NOT NULL
);
PRAGMA application_id = 23149;
PRAGMA user_version = 2;
