! Under the house: cellar, passage, cistern, culvert, the toll arch and what lies behind it.

DarkRoom Cellar "Cellar"
  with  description "A vaulted cellar, ankle deep in old tide. Steps go up to the trap door, and a passage leads north. In the corners,
            just outside the light, things as big as hats fold up their legs and wait for you to put it out.",
        initial [; Achieved(T_CELLAR); ],
        u_to trap_door,
        n_to Passage;
Fixture crabs "cellar crabs" Cellar
  with  name 'crab' 'crabs' 'cellar' 'corner' 'corners' 'things' 'legs' 'leg',
        description "Pale, blind and patient. They are afraid of the light, and of nothing else.",
        before [; Attack, Take: "They keep exactly as far away as the light does."; ],
  has   animate pluralname;
Fixture steps "steps" Cellar
  with  name 'step' 'steps',
        description "Stone, wet, and shut at the top.",
        before [; Climb: <<Go u_obj>>; ],
  has   pluralname;

DarkRoom Passage "Brick Passage"
  with  description "Four brick passages meet. South is the cellar, north an arch of older stone, east a sound of dripping, and west a
            draught with a little salt in it.",
        s_to Cellar,
        n_to Toll_Arch,
        e_to Cistern,
        w_to Culvert;
Fixture bricks "bricks" Passage
  with  name 'brick' 'bricks' 'four' 'good' 'passages' 'draught' 'wall' 'walls' 'sound' 'dripping' 'salt',
        description "Good bricks. Somebody's taxes.",
  has   pluralname;

DarkRoom Cistern "Cistern"
  with  description "A brick tank under a low vault, filled with water so still that it might be a floor. A ledge runs round it. The
            passage is west.",
        w_to Passage,
        d_to "The water is deeper than it looks, and you are not the only one looking.";
Fixture ledge "ledge" Cistern
  with  name 'ledge' 'brick' 'low' 'vault',
        description "A brick wide. Things dropped from above would end on it, with luck.",
  has   supporter;
Object  brass_key "brass key" ledge
  with  name 'key' 'brass',
        description "Small, plain and worn by use: a key with something to do.",
        after [; Take: Achieved(T_KEY); ],
  has   shiny;

Room    Culvert "Culvert"
  with  description "A brick pipe, sloping down and west to an iron flap that lets daylight in at its edges. It is greased with weed: whoever
            starts down it will not climb back. The passage is east.",
        e_to Passage,
        w_to [;
            print "You sit, you slide, and you arrive among the salt pans. The flap clacks shut behind you.^";
            return Salt_Pans;
        ],
        out_to [; return self.w_to(); ],
        d_to [; return self.w_to(); ];
Fixture culvert_flap "iron flap" Culvert
  with  name 'flap' 'iron' 'daylight' 'light',
        description "It opens outwards, and you are inwards.",
        before [; Open, Push, Enter: <<Go w_obj>>; ],
  has   static;

DarkRoom Toll_Arch "Toll Arch"
  with  description [;
            print "An arch older than the house, where toll was once paid on salt. ";
            if (troll in self) print "A troll sits in it, filling it to the edges. ";
            else print "There is mud all over the floor of it. ";
            "The way on is north, through the arch; the passage is south.";
        ],
        s_to Passage,
        n_to PassTroll;
Fixture arch "arch" Toll_Arch
  with  name 'arch' 'gate' 'toll' 'tariff' 'sack',
        description "Over it, worn but legible, a tariff.",
        inscription "SALT, THE SACK, 2d. PERSONS, AS PRESENTED.",
        before [; Enter: <<Go n_obj>>; ],
  has   readable;

Object  troll "troll" Toll_Arch
  with  name 'troll' 'creature' 'keeper' 'arm' 'arms' 'hand' 'hands' 'heap',
        accepted 0,
        struck 0,
        description [;
            print "A heap of river mud with a waistcoat on, and the manners to go with the waistcoat. It sits in the arch and looks at
                your hands. Where a drip from the salt roof has run down one arm, the arm is a little shorter.";
            if (self.accepted) print " It is looking at the rest of you now, in much the same way.";
            new_line; rtrue;
        ],
        life [;
          Give: return Offered();
          Show: "~Is it for me?~ says the troll.";
          ThrowAt: if (noun == bottle) <<Pour bottle self>>; "It catches ", (the) noun, ", and hands it back. ~You dropped this.~";
          Attack:
            if (self.struck == 0) {
                self.struck = 1;
                "You strike it, and it closes over the place as mud does. ~That,~ says the troll, ~was not a present. Do not do it
                again.~";
            }
            deadflag = 1;
            "You strike it again. It sighs, takes you by both elbows, and folds you in half, and then, being tidy, in quarters.";
          Ask, Tell, Answer, Order: "~Have you brought me anything?~ says the troll.";
          Kiss: "It is touched, and so, unpleasantly, are you.";
          WakeOther: "It is awake. It is only mud that sits still.";
        ],
        before [;
          Take, Push, Pull: "You get a handful of it, and it asks for it back.";
          Smell: "Low tide, and starch.";
        ],
  has   animate scenery;

! What it will not have: what the player can't spare, each with a reason that says something.
[ Offered;
    switch (noun) {
        bottle: "The troll sniffs at the neck of the bottle, where the salt is, flinches all down one side, and pushes it back at you
            with the very tip of a finger.";
        lamp: "~Too bright,~ says the troll, and gives it back.";
        sword: "~Sharp,~ says the troll, and gives it back.";
        clapper: "~Noisy,~ says the troll, and gives it back.";
        letter, ledger: "~I can't read,~ says the troll, with dignity, and gives it back.";
        brass_key: "~I have no door,~ says the troll, and gives it back.";
    }
    move noun to self;
    self.accepted = 1;
    print "The troll takes ", (the) noun, " gratefully, ";
    if (noun has edible) { remove noun; print "eats "; if (noun has pluralname) print "them"; else print "it"; }
    else { print "turns "; if (noun has pluralname) print "them"; else print "it";
        print " over twice and puts it away somewhere inside"; }
    ", and looks up to see what else there is. It has not moved out of the arch.";
];

[ PassTroll;
    if (troll notin Toll_Arch) return Salt_Gallery;
    if (troll.accepted == 0 && bottle in player && brine in bottle) {
        print "The troll puts an arm across. You hold the bottle up to look at it, and the neck drips. You tip it the rest of the way.^^";
        remove brine;
        Dissolve();
        new_line;
        return Salt_Gallery;
    }
    if (troll.accepted == 0)
        "The troll puts an arm across, quite gently. Brine drips on it there, and the arm is a little shorter for
        it. ~Have you brought me anything?~ it says.";
    deadflag = 1;
    "You thank the troll for its good will and step past. ~But you still have some left,~ says the troll, and takes that gratefully too,
    beginning with the legs.";
];

[ Dissolve  thing;
    while ((thing = child(troll)) ~= nothing) { move thing to Toll_Arch; give thing moved; }
    remove troll;
    Achieved(T_TROLL);
    "The brine goes over the troll from the top. ~Oh,~ it says, ~now that is a pity,~ and bows, and goes on bowing until there is nothing
    to bow with. Mud runs down the passage. The arch is empty, but for anything that it had been given.";
];

DarkRoom Salt_Gallery "Salt Gallery"
  with  description [;
            print "A gallery cut in rock salt, which takes the lamplight and hands it round. The arch is south. ";
            if (blind_wall has open) print "A doorway stands open to the east. ";
            else print "To the east is a blank smooth wall, out of which somebody has carved an ear. ";
            "To the west the floor stops. It doesn't go on again.";
        ],
        s_to Toll_Arch,
        e_to [;
            if (blind_wall hasnt open && carving hasnt general) "The wall is smooth, shut, and attentive.";
            if (blind_wall hasnt open) { print "You say to the ear the word that is cut in the chapel. "; <Magic>; new_line; }
            return Strongroom;
        ],
        w_to [;
            if (self hasnt general) {
                give self general;
                "You put one foot out, and there is no floor for it. You take it back. Something that you kicked is still falling.";
            }
            deadflag = 1;
            "You take one step more than there is floor. It is a very old mine, and they dug it for two hundred years.";
        ];
Object  blind_wall "wall" Salt_Gallery
  with  name 'wall' 'ear' 'door' 'doorway' 'smooth' 'blank' 'polished',
        description [;
            if (self has open) "It has drawn aside, ear and all.";
            "Polished salt, without a seam, and in the middle of it an ear: a good one, from life. It is listening for something in particular.";
        ],
        before [;
          Open, Push, Pull, Attack, Unlock: if (self hasnt open) "It is not a thing for hands. It seems to be waiting to be told.";
          Enter: <<Go e_obj>>;
        ],
  has   scenery static;
Fixture drop "floor edge" Salt_Gallery
  with  name 'edge' 'floor' 'drop' 'pit' 'mine' 'shaft',
        description "You let a crumb of salt fall, and wait, and stop waiting.",
        before [; Enter, JumpIn: <<Go w_obj>>; ];
Fixture gallery_salt "rock salt" Salt_Gallery
  with  name 'salt' 'rock' 'gallery' 'niche' 'bands' 'crumb' 'lamplight',
        description "Grey, rose and white in bands, like bacon. There is a niche at shoulder height.",
  has   supporter;
Treasure salt_rose "salt rose" gallery_salt
  with  name 'rose' 'salt' 'crystal' 'flower' 'petal' 'petals',
        entry 2,
        description "A crystal grown into the shape of a rose, petal by petal, by water with nothing else to do.";

DarkRoom Strongroom "Strongroom"
  with  description "A cube of salt with a stone bench in it. The reeves of Hoo kept here what the sea had not asked for back. Mostly it has,
            since. The doorway is west.",
        w_to Salt_Gallery,
        out_to Salt_Gallery;
Fixture bench "stone bench" Strongroom
  with  name 'bench' 'stone' 'salt' 'cube' 'doorway',
        description "Bare, but for what is on it.",
  has   supporter;
Treasure chain "gold chain" bench
  with  name 'chain' 'gold' 'links' 'link' 'office' 'clasp' 'reeve^s',
        entry 4,
        description "The reeve's chain of office: forty links, each with a different fish, and on the clasp a crab, looking smug.";
