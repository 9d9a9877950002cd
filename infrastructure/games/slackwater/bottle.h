! The bottle: what it is filled with where, and what happens when that is poured.

Object  bottle "glass bottle" shelf
  with  name 'bottle' 'glass' 'flask' 'neck' 'rime' 'green' 'thick' 'old',
        description [;
            print "Thick green glass, with a rime of old salt about the neck. ";
            if (brine in self) "It is full of brine.";
            if (fresh_water in self) "It is full of fresh water.";
            "It is empty.";
        ],
        before [;
          Fill: return FillBottle();
          Receive: if (noun ~= brine or fresh_water) "The neck is too narrow.";
          Empty: <<Pour self>>;
          EmptyT: <<Pour self second>>;
          Drink: if (child(self)) <<Drink (child(self))>>; "It is empty.";
          ThrowAt: if (second == troll) <<Pour self second>>; "It is too useful to break.";
          Attack: "It is too useful to break.";
          Close: "There is no cork, and never was.";
        ],
        after [; Take, Remove: Achieved(T_BOTTLE); ],
  has   container open transparent;

Class   Liquid
  with  before [;
          Take, Remove: "It would only run through your fingers. It is better in the bottle.";
          ThrowAt:
            if (second == nothing && troll in real_location) <<Pour bottle troll>>;
            <<Pour bottle second>>;
          Give, Show: <<Give bottle second>>;
          PutOn, Insert: if (second == bottle) "It is in the bottle already."; <<Pour bottle second>>;
          Drop, Empty: <<Pour bottle>>;
        ];
Liquid  brine "brine"
  with  name 'brine' 'seawater' 'salt' 'water',
        article "some",
        description "Salt water, strong enough to sting to look at.",
        before [; Drink, Taste: "Your tongue tries to leave."; ];
Liquid  fresh_water "fresh water"
  with  name 'fresh' 'water',
        article "some",
        description "Clear, sweet and of no particular opinion.",
        before [; Drink: remove self; "You drink it. It was only water, but it was all of it."; ];

! Of several things called brine or water, the one in the bottle is meant; a backdrop, only if nothing else is.
[ ChooseObjects obj code;
    if (code ~= 2 || obj in Compass) return 0;
    if (obj has scenery) no_infer_message = true;
    if (obj ofclass Backdrop) return 1;
    if (obj == brine or fresh_water) return 9;
    return 2;
];

! 2 for salt, 1 for fresh, 0 for none: what a bottle is filled with here.
[ WaterHere;
    switch (real_location) {
        Salt_Pans, Causeway_End: return 2;
        Well_Yard, Mere, Staithe, Chapel_Islet: return 1;
    }
    return 0;
];

[ FillBottle;
    if (bottle notin player) "You would have to be holding the bottle.";
    if (child(bottle)) "The bottle is full already. You could pour it out.";
    if (real_location == Marsh_Post or Marsh_Heron or Marsh_Ribs or Marsh_Stump) "It is more marsh than water. The bottle would choke.";
    if (real_location == Cellar) "It is only ankle deep, and there are legs in it.";
    if (real_location == Cistern) "You put it off. Something at the bottom has put it off too.";
    switch (WaterHere()) {
        2:  move brine to bottle;
            Achieved(T_BRINE);
            "The bottle fills with brine, and stings a cut you did not know you had.";
        1:  move fresh_water to bottle;
            "The bottle fills with fresh water.";
    }
    "There is nothing here to fill it with.";
];

[ PourSub  what;
    if (noun == brine or fresh_water) noun = bottle;
    if (noun ~= bottle) "That does not pour.";
    if (bottle notin player) "You would have to be holding the bottle.";
    what = child(bottle);
    if (what == nothing) "The bottle is empty.";
    remove what;
    if (second == troll) {
        if (what == brine) { Dissolve(); rtrue; }
        "The troll shuts its eyes and lets the water run down it. ~Thank you,~ it says, and wrings out the waistcoat. It is cleaner, and
        no smaller.";
    }
    if (second == nothing) "You pour it out, and the ground drinks it.";
    print "You pour it over ", (the) second, ". ";
    if (second has pluralname) "They get wet.";
    "It gets wet.";
];
