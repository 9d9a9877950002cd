! `help`, `about` and `hint`. A hint is a nudge; asked for again in the same plight, it says more, and at last says all.

[ HelpSub;
    print "You are a clerk on a tidal island, and the commands are short: LOOK, EXAMINE the notice, READ the letter, TAKE the lamp,
        OPEN the window, PUT the bead IN the chest. Go by the compass (NORTH or N, NORTHEAST or NE, UP, IN and so on). INVENTORY says what you
        carry, SCORE how the accounts stand, FULL SCORE why; AGAIN repeats, WAIT waits, UNDO takes back. ";
    "SAVE, RESTORE, RESTART and QUIT do as they say. HINT helps who is stuck, a little at a time, and ABOUT says what this is.";
];
[ AboutSub;
    "SLACK WATER, an errand in twenty-nine rooms and 100 points. It comes with ZorkGPT, as a place for a player with a memory to learn in, and
    is under the same licence (MIT). It was made with Inform 6 and its library. Nothing in it is random but a jackdaw. HELP says how to play.";
];

Array hints_told -> 32;

! One plight: what is printed first, second, and from then on.
[ TellHint plight first second third;
    if (hints_told->plight == 0) print (string) first;
    else if (hints_told->plight == 1) print (string) second;
    else { print (string) third; new_line; rtrue; }
    hints_told->plight = hints_told->plight + 1;
    " (HINT again says more.)";
];

[ HintSub;
    if (~~lightflag) return TellHint(0,
        "What lives down here minds the light, and nothing else.",
        "You have a few turns in the dark, no more. Light something, or go.",
        "TURN ON the lamp, if you have it. If not, from the cellar: north, west, and west again is daylight.");
    if (troll in real_location) return TellHint(2,
        "Somebody tried it with a cheese, and with well water, and wrote down how that went.",
        "It is mud and manners, and salt undoes both. It looks at a bottle in a certain way.",
        "Fill the bottle at the salt pans, and POUR BRINE ON TROLL. Give it nothing.");
    if (real_location == Salt_Gallery && blind_wall hasnt open) return TellHint(3,
        "What has an ear wants telling something.",
        "Its word is cut over a door, on an islet, in the mere.",
        "Go by punt to the chapel, and read the inscription. Say here what it says.");
    if (task_done->T_LETTER == 0) return TellHint(4,
        "You were given something to read.",
        "An errand begins with its instructions.",
        "READ LETTER.");
    if (Kitchen hasnt visited) return TellHint(5,
        "The front of the house has said what it has to say. A house has more than one side.",
        "A window at the back is NOT a means of entry, says the notice. What holds it shut might be seen from close by.",
        "In the back garden, EXAMINE WINDOW, then OPEN WINDOW, then go in.");
    if (lamp hasnt moved) return TellHint(6,
        "Part of what you want lies where there is no daylight.",
        "The kitchen has what it takes to go down there.",
        "Take the storm lamp from the kitchen.");
    if (task_done->T_LEDGER == 0) return TellHint(7,
        "The reeve kept a record of what he tried, and how it served him.",
        "It lies where he did his sums.",
        "READ LEDGER in the counting room, west of the hall.");
    if (bottle hasnt moved) return TellHint(8,
        "Something on this island is undone by what you could carry in a bottle.",
        "Where salt was boiled there will be one.",
        "Take the bottle from the shelf of the salt cote, north of the salt pans.");
    if (amber hasnt moved) return TellHint(9,
        "One of the five things lies in the marsh, and a post there says how to walk in it.",
        "Keep to the tussocks. Where it is bright it is deep.",
        "From the salt pans go west, north, west, south. The amber bead is in the hollow stump.");
    if (sword hasnt moved) return TellHint(10,
        "There are ropes on this island, and no knot that was meant to be untied.",
        "The hall has a thing for ropes and arguments.",
        "Take the short sword from above the fireplace.");
    if (punt hasnt general) return TellHint(11,
        "What floats on the mere is made fast, for the present.",
        "Its knot has set like stone; but the rope is only rope.",
        "At the staithe, beyond the marsh, CUT ROPE with the sword in your hand.");
    if (handbell hasnt moved) return TellHint(12,
        "There is an island in the mere, and the water goes two ways from the middle. One of them is loud.",
        "ENTER PUNT, and go west and north; never south.",
        "The silver handbell is on the altar of the chapel, north of the islet's landing. Read what is over the door, too.");
    if (task_done->T_TROLL == 0) {
        if (brine notin bottle) return TellHint(13,
            "You have a bottle, and the reeve has written down what to put in it.",
            "Not from the well. What was it that the salters boiled?",
            "FILL BOTTLE at the salt pans.");
        if (Cellar has visited) return TellHint(19,
            "Somebody below the house lets nobody pass, and you are carrying what he would rather not have.",
            "It is mud and manners, and salt undoes both. He sits north of where the brick passages meet.",
            "From the brick passage, north to the toll arch, and POUR BRINE ON TROLL.");
        return TellHint(14,
            "The reeve's way down is in the room where he did his sums, and it closes behind you.",
            "Light the lamp before you go down. Beyond the cellar, to the north, somebody wants a thing from you.",
            "TURN ON LAMP, OPEN TRAP DOOR and go down; then north and north to the toll arch, and POUR BRINE ON TROLL.");
    }
    if (salt_rose hasnt moved || chain hasnt moved) return TellHint(15,
        "What the troll stood before has not been emptied yet.",
        "There is a rose beyond the arch, and a wall that listens beyond the rose.",
        "Beyond the toll arch, take the salt rose; say to the wall the word from the chapel, and take the gold chain to the east.");
    if (task_done->T_CHAMBER == 0) return TellHint(16,
        "One door in the house is locked, and of two keys one fits.",
        "The reeve dropped it in the water, below. Things that are dropped end on a ledge, with luck.",
        "The brass key is on the ledge of the cistern, east of the brick passage. It unlocks the oak door on the landing.");
    if (hourglass hasnt moved) return TellHint(17,
        "The reeve kept the tide beside his bed.",
        "You have opened the way to it.",
        "Take the tide glass from the bedside table of the chamber.");
    return TellHint(18,
        "You have found what you were sent for. Is it where it belongs?",
        "If one has gone from you, ask who likes what shines, and where it keeps such things.",
        "Bring the five things to the hall, where the sea chest must be open. What the jackdaw took is in its nest in the loft.");
];

Verb meta 'help' 'commands' 'verbs' 'instruction' * -> Help * topic -> Help;
Verb meta 'about' 'info' 'credits' 'author' * -> About;
Verb meta 'hint' 'hints' 'clue' 'clues' 'advice' * -> Hint;
