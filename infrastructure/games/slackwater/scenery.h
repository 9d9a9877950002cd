! What the texts mention and nobody needs. It comes last, so that the numbers of rooms and things stay what they were,
! and is concealed: it answers to its name, and is not listed among the things at hand.

Property describing;    ! words that may stand beside a place's name, and alone name nothing

Class   Detail
  has   scenery concealed;
! Found in every room; whatever else has the same name is meant before it.
Class   Backdrop
  with  found_in [; rtrue; ],
  has   scenery concealed;

! Everywhere

Backdrop boots "boots"
  with  name 'boots' 'boot' 'pair',
        description "Stout, and drier than the island. You mean to keep them so.",
        before [;
          Take, Remove, Disrobe, Drop: "They stay on. There are tenants in the cellars of such houses.";
          Wear: "You are wearing them.";
        ],
  has   pluralname;

Backdrop clothes "hat and coat"
  with  name 'hat' 'coat' 'clothes' 'pocket' 'pockets' 'lint' 'ink',
        description "A clerk's, and respectable, if nobody looks at the cuffs.",
        before [;
          Search: "Lint.";
          Take, Remove, Disrobe, Drop: "A clerk keeps his hat on.";
          Wear: "You are wearing them.";
        ],
  has   pluralname;

Backdrop limbs "hands and feet"
  with  name 'hands' 'hand' 'fingers' 'finger' 'feet' 'foot' 'knees' 'knee' 'thigh' 'legs' 'leg' 'arms' 'arm' 'elbows' 'tongue'
            'body' 'clerk' 'cuffs' 'cuff' 'head' 'shoulder' 'ankle' 'waist' 'eyes',
        description "You are a clerk, and all of you is present, as of the last count.",
        before [; Take: "You have them already."; ],
  has   pluralname;

Backdrop the_ground "ground"
  with  name 'ground' 'floor' 'earth' 'dirt' 'land',
        description [;
            if (real_location == Mere) "There is only water under you, and the bottom of a punt.";
            "It is under you, and bears you, which on this island is worth a word of thanks.";
        ],
        before [; Receive: <<Drop noun>>; ];

Backdrop absent_people "people"
  with  name 'reeve' 'late' 'reeves' 'sallow' 'sallows' 'grote' 'pell' 'employer' 'employers' 'parson' 'solicitor' 'solicitors' 'boy' 'salter'
            'people' 'someone' 'somebody' 'nobody' 'tenants' 'person' 'persons' 'starlings' 'trolls',
        before [; "Whoever you mean is not here."; ],
  has   pluralname;

Backdrop accounts "accounts"
  with  name 'accounts' 'account' 'books' 'errand' 'estate' 'five' 'things' 'instructions',
        description [;
            "They do not balance. Five things are missing, and your letter says which.";
        ],
        before [; Take: "You took them on when you took the letter."; ],
  has   pluralname;

Class   Place
  class Backdrop
  with  parse_name [ n named w;
            while ((w = NextWord()) ~= 0) {
                if (WordInProperty(w, self, name)) named = true;
                else if (~~WordInProperty(w, self, describing)) break;
                n++;
            }
            if (named) return n;
            return 0;
        ],
        article "a place",
        before [;
          Examine, Search, LookUnder: "Either you are there, and have only to look about you, or it is a matter of walking.";
          Listen, Smell: "You would have to go there.";
          default: "You would have to say which compass direction to go in.";
        ],
  has   proper;
Place   elsewhere_outside "elsewhere"
  with  name 'elsewhere' 'causeway' 'mainland' 'world' 'lane' 'yard' 'orchard' 'garden' 'house' 'pans' 'hut' 'cote' 'marsh' 'staithe'
            'mere' 'islet' 'chapel' 'island' 'hoo' 'isle' 'track' 'path' 'paths' 'end' 'post' 'way' 'place',
        describing 'salt' 'front' 'well' 'sunken' 'hollow' 'cinder' 'withy' 'back' 'ruined' 'small';
Place   elsewhere_inside "elsewhere"
  with  name 'kitchen' 'hall' 'room' 'landing' 'loft' 'chamber' 'cellar' 'passage' 'passages' 'cistern' 'culvert' 'arch' 'gallery'
            'strongroom',
        describing 'counting' 'reeve^s' 'brick' 'toll' 'salt';

! What the letter asks for answers to its whole name wherever it is not.
Backdrop sought "missing thing"
  with  name 'missing' 'thing',
        parse_name [ first next;
            first = NextWord(); next = NextWord();
            switch (first) {
              'amber':  if (next == 'bead') return 2;
              'silver': if (next == 'handbell' or 'bell') return 2;
              'salt':   if (next == 'rose') return 2;
              'tide':   if (next == 'glass') return 2;
              'gold':   if (next == 'chain') return 2;
              'sea':    if (next == 'chest') return 2;
              'bead', 'handbell', 'rose', 'hourglass', 'amber', 'chest', 'thing': return 1;
              'missing': if (next == 'thing' or 'things') return 2;
            }
            return 0;
        ],
        before [; "It is not here. Your letter says what goes where, and leaves the finding to you."; ];

! Out of doors

Detail  the_sky "sky"
  with  name 'sky' 'air' 'cloud' 'clouds' 'sun' 'daylight' 'wind' 'weather',
        description "White, wide, and not taking sides.",
        found_in Causeway_End Hollow_Lane Front_Yard Well_Yard Back_Garden Orchard Salt_Pans Marsh_Post Marsh_Heron Marsh_Ribs
            Marsh_Stump Staithe Mere Chapel_Islet Chapel Loft;

Detail  fence_post "fence post" Causeway_End
  with  name 'fence' 'post' 'posts',
        description [;
            "It has gone by. There is always another.";
        ],
        before [; Take, Pull: "It was going at the speed of a horse."; ];
Detail  mainland "mainland" Causeway_End
  with  name 'mainland' 'main' 'dry' 'land' 'world' 'horizon',
        description [;
            "Two miles off by the milestone, and all of it water.";
        ];
Detail  lane_mouth "sunken lane" Causeway_End
  with  name 'lane' 'sunken' 'bank' 'banks',
        description "It leads north, between its banks, towards a house.",
        before [; Enter: <<Go n_obj>>; ];

Detail  far_house "house" Hollow_Lane
  with  name 'house' 'chimney' 'chimneys' 'withy',
        description "Chimneys, to the north, and no smoke.",
        before [; Enter: <<Go n_obj>>; ];
Detail  smoke "smoke" Hollow_Lane
  with  name 'smoke',
        description "There is none.";
Detail  cinder_track "cinder track"
  with  name 'track' 'cinder' 'cinders',
        description "Clinker from the salt fires, trodden flat between the lane and the pans.",
        found_in Hollow_Lane Salt_Pans,
        before [; Enter: if (real_location == Salt_Pans) <<Go e_obj>>; <<Go w_obj>>; ];
Detail  lane_itself "lane" Hollow_Lane
  with  name 'lane' 'hollow' 'causeway',
        description "South it goes to the causeway, and north to the house.",
        before [; Enter: "You would have to say which compass direction to go in."; ];

Detail  gate "gate" Front_Yard
  with  name 'gate' 'lane',
        description "It stands open, and would have to be dug out to be shut. The lane begins there.",
        before [;
          Open: "It stands open.";
          Close: "It would have to be dug out.";
          Enter: <<Go s_obj>>;
        ];
Detail  garden_paths "paths"
  with  name 'path' 'paths',
        description "Trodden, and then left alone for a year or so.",
        found_in Front_Yard Well_Yard Back_Garden,
        before [; Enter: "You would have to say which compass direction to go in."; ],
  has   pluralname;
Detail  cobbles "cobbles" Well_Yard
  with  name 'cobble' 'cobbles' 'cobbled' 'yard',
        description "Round, wet, and laid by somebody with time.",
  has   pluralname;
Detail  winch "winch" Well_Yard
  with  name 'winch' 'lid' 'rope' 'foothold',
        before [; "There is none. The shaft simply goes down."; ];
Detail  bush "bush" Back_Garden
  with  name 'bush',
        description "Dark, and hung with black berries. Nobody planted it.",
        before [;
          Search: "Berries.";
          Take, Pull: "It has roots, and means to keep them.";
        ];
Detail  far_kitchen "kitchen" Back_Garden
  with  name 'kitchen',
        description "It is behind the window.",
        before [; Enter: <<Enter window>>; ];
Detail  roots "roots" Back_Garden
  with  name 'root' 'roots',
        description "Below, where roots are.",
  has   pluralname;
Detail  nail "nail" Orchard
  with  name 'nail' 'string',
        description "A nail in the trunk of the pear tree, with a string for hanging a thing up by.",
        before [; Take, Pull: "It has grown into the tree."; ];
Detail  wasp "wasp" Orchard
  with  name 'wasp',
        description "Out.";
Detail  hut_inside "hut" Salt_Cote
  with  name 'hut' 'cote' 'plank' 'planks' 'peg' 'pegs' 'door',
        description "Planks, white with the salt of other people's years. The door stands open to the south.",
        before [;
          Open: "It stands open.";
          Close: "It has no wish to.";
          Enter, Exit: <<Go s_obj>>;
        ];

Detail  cote_salt "old salt" Salt_Cote
  with  name 'old' 'salt' 'snow' 'crust',
        description "White, in every seam of the boards.",
        before [; Take, Insert: "It is in the grain of the wood by now."; ];
Detail  boards "boards" Salt_Cote
  with  name 'board' 'boards' 'seam' 'grain' 'wood',
        description "Tarred outside, salted within.",
  has   pluralname;

! The marsh and the mere

Detail  pool "pool" Marsh_Heron
  with  name 'pool',
        description "Brown, shallow, and as wide as a heron needs.",
        before [; Enter, Drink: "It is more marsh than water."; ];
Detail  transom "transom" Marsh_Ribs
  with  name 'transom' 'prudence' 'name',
        description "The last board of her, with her name on it.",
        inscription "PRUDENCE, and under it half of a port.",
  has   readable;
Detail  far_planks "planks" Marsh_Stump
  with  name 'plank' 'planks' 'open' 'water',
        description "To the west, by the look of it: a landing, with open water behind it.",
  has   pluralname;

Detail  landing_stage "landing" Staithe
  with  name 'landing' 'staithe' 'grey' 'plank' 'planks' 'iron' 'ring' 'edge',
        description "Grey planks, and an iron ring to make fast to.";
Detail  far_chapel "chapel"
  with  name 'chapel' 'small' 'square' 'island' 'islet',
        description "A small square chapel without a roof, on a small island in the north of the mere.",
        found_in Staithe Mere,
        before [; Enter: "It is across the water."; ];
Detail  far_reeds "reeds"
  with  name 'reed' 'reeds' 'wall',
        description "Close, and taller than the pole.",
        found_in Mere,
  has   pluralname;
Detail  far_staithe "staithe" Mere
  with  name 'staithe' 'landing',
        description "A line of grey planks, to the east.";
Detail  pole "pole" punt
  with  name 'pole',
        description "Long, and worn in two places to the shape of hands.",
        before [; Take, Remove: "It belongs to the punt. Sit down in it and say which way."; ];
Detail  turf "turf" Chapel_Islet
  with  name 'turf' 'grass' 'sheep' 'sheep-bitten' 'acre',
        description "Bitten short, by sheep that are not here to be asked about it.";
Detail  fallen_door "fallen door"
  with  name 'door' 'fallen',
        description "It has fallen in, and lies where it fell.",
        found_in Chapel_Islet Chapel,
        before [;
          Open: "It is as open as a door can be.";
          Close, Push, Pull: "It is past shutting. The inscription must mean another.";
        ];
Detail  daisies "daisies" Chapel
  with  name 'daisy' 'daisies' 'floor' 'moss',
        description "They have the place to themselves.",
        before [; Take: "They are better where they are."; ],
  has   pluralname;

! The house

Detail  inner_walls "walls"
  with  name 'wall' 'walls' 'four' 'vaulted' 'ceiling' 'corner' 'corners' 'vault',
        description "They do what walls do.",
        found_in Kitchen Hall Counting_Room Landing Chamber Salt_Cote Chapel Cellar Passage Cistern Culvert Toll_Arch Strongroom,
  has   pluralname;
Detail  kitchen_floor "stone floor" Kitchen
  with  name 'stone' 'floor',
        description "Swept, once, and then walked out on.",
        before [; Receive: <<Drop noun>>; ];
Detail  cellar_steps "flight of steps" Counting_Room
  with  name 'flight' 'steps' 'step' 'dark',
        description [;
            if (trap_door has open) "It goes down into the dark.";
            "If there is one, it is under the trap door.";
        ],
        before [; Climb, Enter: <<Go d_obj>>; ];
Detail  landing_stair "stair" Landing
  with  name 'stair' 'stairs',
        description "It goes down to the hall, complaining.",
        before [; Climb, Enter: <<Go d_obj>>; ];
Detail  spectacle_case "spectacle case" Loft
  with  name 'spectacle' 'spectacles' 'case',
        description "It is woven into the nest, and shut. The reeve's, no doubt.",
        before [; Open, Take, Remove, Pull: "It holds up one side of the nest by now."; ];
Detail  loft_ladder "ladder" Loft
  with  name 'ladder' 'rung' 'rungs',
        description "Seven rungs, and the two that you don't trust are at this end.",
        before [; Climb, Enter: <<Go d_obj>>; ];
Detail  clock "clock" Chamber
  with  name 'clock',
        description "Stopped. It had made its point.",
        before [; Turn, SwitchOn: "It has no key, and you have no use for the time."; ];
Detail  chamber_window "window" Chamber
  with  name 'window' 'sea' 'pane' 'tide',
        description [;
            "It is full of sea. Whoever stood here could see what was coming.";
        ],
        before [;
          Search: <<Examine self>>;
          Open, Push, Pull: "It was never made to open.";
          Enter, Climb: "It is two floors up.";
        ];

! Below

Detail  old_tide "old tide" Cellar
  with  name 'water' 'tide' 'old',
        description "Ankle deep, and kept too long.",
        before [;
          Drink, Taste: "There are legs in it.";
          Take: "It is too much for your hands, and there are legs in it.";
        ];
Detail  cistern_water "still water" Cistern
  with  name 'water' 'still' 'brick' 'tank' 'bottom' 'cistern',
        description "So still that it might be a floor. Now and then, at the bottom, it isn't.",
        before [;
          Receive: "It would be gone for good. You keep it.";
          Enter, Drink, Taste, Take, Swim, JumpIn, Search, Touch: "You put it off. Something at the bottom has put it off too.";
        ];
Detail  older_arch "arch of older stone" Passage
  with  name 'arch' 'of' 'older' 'stone',
        description "To the north, and never built by whoever laid the bricks.",
        before [; Enter: <<Go n_obj>>; ];
Detail  pipe "pipe" Culvert
  with  name 'pipe' 'brick' 'bricks' 'weed' 'slope' 'culvert' 'edge' 'edges',
        description "Brick, greased with weed, and sloping down to the flap.",
        before [; Enter, Climb: <<Go w_obj>>; ];
Detail  waistcoat "waistcoat" Toll_Arch
  with  name 'waistcoat',
        description [;
            if (troll in real_location) "Buttoned, and cleaner than what it is buttoned over.";
            "It went where the troll went.";
        ],
        before [; Take, Pull, Remove: if (troll in real_location) "You get a handful of mud, and it is asked for back."; ];
Detail  mud "mud" Toll_Arch
  with  name 'mud' 'river' 'floor',
        description [;
            if (troll in real_location) "Most of it is sitting up and looking at you.";
            "It is only mud now. It had better manners before.";
        ],
        before [; Take: "It would not thank you."; ];
Detail  salt_roof "salt roof" Toll_Arch
  with  name 'roof' 'drip' 'rock' 'salt',
        description "Rock salt, with a drip in it that falls where the troll sits, or sat.";

! What else the story has to say of a place to whoever listens, or sniffs.
[ Heard;
    switch (real_location) {
      Causeway_End:
        "The tide, in a hurry.";
      Front_Yard, Hall, Landing, Kitchen, Counting_Room: "The house listens back.";
      Well_Yard: "From a long way below, water minding its own business.";
      Staithe, Mere, Chapel_Islet: "Somewhere to the south, a sluice.";
      Marsh_Post, Marsh_Heron, Marsh_Ribs, Marsh_Stump: "The reeds say hush, and the mud says nothing.";
      Loft, Orchard:
        if (jackdaw in real_location) "~Jack,~ says the jackdaw.";
        "A draught, and your own boots.";
      Cellar: "Click, says something in a corner.";
      Passage: "To the east, dripping.";
      Cistern: "Nothing at all, and it is listening too.";
      Toll_Arch: if (troll in real_location) "It breathes, like a tide going out over mud.";
      Salt_Gallery: if (blind_wall hasnt open) "Nothing. You have the feeling that somebody is doing it better.";
    }
    rfalse;
];
[ Sniffed;
    switch (real_location) {
      Causeway_End, Hollow_Lane, Salt_Pans, Salt_Cote, Salt_Gallery, Strongroom, Toll_Arch: "Salt.";
      Marsh_Post, Marsh_Heron, Marsh_Ribs, Marsh_Stump: "Mud, and things that were not quick enough to get out of it.";
      Back_Garden: "Cabbage, gone by.";
      Orchard: "Pears, mostly last year's.";
      Kitchen: "Cold soot.";
      Cellar, Passage, Cistern, Culvert: "Low tide.";
    }
    rfalse;
];
! Swimming, where there is water to say no to.
[ Refused;
    switch (real_location) {
      Well_Yard: "Down there? The only way is down, and it has no other virtues.";
      Salt_Pans: "They are a foot deep, and would pickle you.";
      Marsh_Post, Marsh_Heron, Marsh_Ribs, Marsh_Stump: "It is more marsh than water.";
      Cellar: "It is ankle deep.";
      Cistern: "You put it off. Something at the bottom has put it off too.";
    }
    rfalse;
];
