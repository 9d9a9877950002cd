! What belongs to no place: the errand, the jackdaw, the dark, the awards.

Object  letter "solicitors' letter"
  with  name 'letter' 'solicitors' 'solicitors^' 'commission' 'paper' 'errand' 'of' 'handwriting' 'good' 'bad' 'instructions' 'names',
        description "Good paper, bad handwriting. It is from your employers.",
        before [; Consult, Open: <<Read self>>; ],
        inscription [;
            Achieved(T_LETTER);
            "~Sir or Madam, you will oblige us by squaring the accounts of the late Reeve. Five things belong in the sea chest in
            his hall, and are not in it: an amber bead, a silver handbell, a salt rose, a tide glass, a gold chain. Put them
            there. The Hoo, as you will have noticed, does not return a clerk until the books balance; when they do, walk
            home. Yours &c., Grote & Pell.~";
        ],
  has   readable;

[ Initialise;
    location = Causeway_End;
    no_implicit_actions = true;
    move letter to player;
    move jackdaw to Orchard;
    StartDaemon(jackdaw);
    print "^^The tide came in behind you as if it had been waiting round the corner. You are a clerk with a letter of commission, a dry
        pair of boots and, until somebody squares the late Reeve's accounts, an island. You had better read the letter.^^";
];

Object  jackdaw "jackdaw"
  with  name 'jackdaw' 'bird' 'daw' 'thief' 'nape' 'eye' 'beak' 'feathers',
        eyed 0,
        sated 0,
        description "Grey nape, white eye, hands behind its back, like a magistrate at a sale. It likes what shines.",
        describe [; "^A jackdaw walks up and down here, pricing things."; ],
        life [;
          Give:
            if (noun == bread) {
                remove bread; self.sated = 40;
                "The jackdaw takes the bread to pieces, and the pieces into account. It will want nothing for a while.";
            }
            if (noun has shiny) { move noun to nest; move self to Loft; "It does not need to be asked. Bird and ", (name) noun, " go over the roof."; }
            "It looks at ", (the) noun, ", and at you, with pity.";
          Attack, ThrowAt: "You miss. It makes a note of you.";
          Show: "It looks at ", (the) noun, " with one eye, and at your fingers with the other.";
          Ask, Tell, Answer, Order: "It says ~Jack~, which is what it says.";
        ],
        before [; Take: "Others have tried."; ],
        daemon [; Prowl(); ],
  has   animate;

! One turn of the jackdaw. It needs a turn's look at a person before it robs him.
[ Prowl  here next;
    here = parent(jackdaw);
    if (jackdaw.sated > 0) jackdaw.sated--;
    if (here == real_location) {
        if (clapper in player) { Flee(); return; }
        if (jackdaw.eyed && jackdaw.sated == 0 && random(2) == 1 && Steal()) return;
        jackdaw.eyed = 1;
    }
    if (random(3) > 1) return;
    next = here.&flight-->(random(here.#flight / 2) - 1);
    jackdaw.eyed = 0;
    if (here == real_location) print "^The jackdaw loses interest, and leaves over the roof.^";
    move jackdaw to next;
    if (next == real_location) {
        if (clapper in player) { Flee(); return; }
        print "^A jackdaw comes down out of the sky and begins to walk about.^";
    }
];

[ Flee;
    move jackdaw to Loft;
    if (real_location == Loft) move jackdaw to Staithe;
    jackdaw.eyed = 0;
    print "^The jackdaw sees the clapper in your hand, and remembers an appointment.^";
];

! Something that shines, from the hands or from the ground if it has been handled; into the nest with it.
[ Steal  thing count pick;
    objectloop (thing has shiny) if (WithinBeak(thing)) count++;
    if (count == 0) rfalse;
    pick = random(count);
    objectloop (thing has shiny) {
        if (WithinBeak(thing)) { pick--; if (pick == 0) break; }
    }
    if (thing in player) print "^There is a rush of grey, and the jackdaw has ", (the) thing, " out of your hand";
    else print "^The jackdaw picks up ", (the) thing;
    print ". It is over the roof before you have finished saying so.^";
    move thing to nest;
    move jackdaw to Loft;
    jackdaw.eyed = 0;
    rtrue;
];

[ WithinBeak thing;
    if (thing in player) rtrue;
    return (thing in real_location && thing has moved);
];

! Four turns together without light, and the cellar's tenants have finished thinking it over.
[ TimePasses;
    if (location ~= thedark) { dark_turns = 0; return; }
    dark_turns++;
    switch (dark_turns) {
        1: print "^In the dark, not far off, something goes click, and stops, as if it had heard you.^";
        2: print "^Click, click. It is nearer, and it isn't one.^";
        3: print "^Something wet and hard closes on your boot, quite gently, to see whether you will object. You have no time left in
            this dark.^";
        default:
            deadflag = 1;
            print "^The crabs have made up their minds. They are thorough, as those are who have all night every night.^";
    }
];

[ PrintTaskName n;
    switch (n) {
        T_LETTER:  "reading your commission";
        T_CLAPPER: "finding the clapper";
        T_WINDOW:  "opening the window";
        T_HOUSE:   "entering Withy House";
        T_LAMP:    "taking the lamp";
        T_SWORD:   "taking the sword";
        T_LEDGER:  "reading the ledger";
        T_BOTTLE:  "finding the bottle";
        T_BRINE:   "filling it with brine";
        T_STAITHE: "crossing the marsh";
        T_CELLAR:  "seeing the cellar";
        T_TROLL:   "passing the troll";
        T_CHAMBER: "unlocking the chamber";
        T_PUNT:    "freeing the punt";
        T_CHAPEL:  "reaching the chapel";
        T_WORD:    "finding the word";
        T_HOME:    "going home";
        T_KEY:     "finding the brass key";
    }
    if (n >= T_STORED) "squaring one of the accounts";
    "finding one of the five things";
];
