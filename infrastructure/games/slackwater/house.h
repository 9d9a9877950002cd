! Withy House: kitchen, hall, counting room, landing, the locked chamber, the loft.

Room    Kitchen "Kitchen"
  with  description "A kitchen with a stone floor, a cold range and a long table scrubbed as pale as a bone. The light comes in
            by the window to the north; the hall is south.",
        initial [; Achieved(T_HOUSE); ],
        n_to window,
        out_to window,
        s_to Hall;

Fixture range "cold range" Kitchen
  with  name 'range' 'stove' 'cold' 'oven' 'straw' 'soot' 'starlings^',
        description "Black, blind and full of starlings' straw.";
Fixture kitchen_table "long table" Kitchen
  with  name 'table' 'long',
        description "Long enough for a dozen. The last of them left crumbs.",
  has   supporter;
Object  bread "stale bread" kitchen_table
  with  name 'bread' 'stale' 'heel' 'of' 'crust' 'loaf' 'crumb' 'crumbs' 'food',
        article "some",
        description "Stale enough to be a tool.",
        after [; Eat: "It takes some time. You feel better, or at any rate occupied."; ],
  has   edible;
Object  lamp "storm lamp" Kitchen
  with  name 'lamp' 'storm' 'lantern' 'light' 'knob' 'wick' 'oil' 'flame',
        initial "A storm lamp hangs from a hook by the range.",
        charge 400,
        description [;
            print "A storm lamp, the kind that is lit by turning a knob. ";
            if (self.charge == 0) "It is dry.";
            if (self has on) print "It is burning. "; else print "It is out. ";
            if (self.charge > 250) "The oil stands high in the glass.";
            if (self.charge > 80) "The oil is at the half.";
            "There is not much oil left.";
        ],
        before [;
          Burn, Turn: if (self has on) "It is lit already."; <<SwitchOn self>>;
          SwitchOn:
            if (self.charge == 0) "The wick glows and goes out. There is no oil left.";
          Blow: <<SwitchOff self>>;
          Rub: "Nothing appears. It is that sort of lamp.";
          Fill: "There is no lamp oil on the island but what is in it.";
        ],
        after [;
          Take: Achieved(T_LAMP);
          SwitchOn:
            give self light; StartDaemon(self);
            "You turn the knob and the flame stands up, small, yellow and resolute.";
          SwitchOff:
            give self ~light; StopDaemon(self);
            "You turn the flame down and out.";
        ],
        daemon [;
            self.charge--;
            switch (self.charge) {
                60: if (TestScope(self)) "^The lamp flickers. A good deal of the oil has gone.";
                25: if (TestScope(self)) "^The flame is turning red. There is not much more of it.";
                8: if (TestScope(self)) "^The lamp gutters: a few turns of light, no more.";
                0:
                    give self ~on ~light; StopDaemon(self);
                    if (TestScope(self)) "^The lamp goes out, with a smell of wick. That was the last of the oil.";
            }
        ],
  has   switchable;
Fixture hook "hook" Kitchen
  with  name 'hook' 'hooks' 'nail',
        description "Iron, and screwed in to stay. There are two of them.";
Object  iron_key "iron key" Kitchen
  with  name 'key' 'iron',
        initial "An iron key hangs from the other hook.",
        description "As long as your hand, and important-looking. Keys with least to do often are.";

Room    Hall "Hall"
  with  description "The hall runs up two floors into shadow. A great fireplace fills one side of it, and against the stair stands
            the reeve's sea chest. The kitchen is north and the counting room west; the stair goes up. The front door,
            south, is nailed shut on this side as well, which seems excessive.",
        n_to Kitchen,
        w_to Counting_Room,
        u_to Landing,
        s_to front_door,
        each_turn [ t;
            if (chest has open) objectloop (t ofclass Treasure) if (t in player) { move t to chest; new_line; Entered(t); }
        ];

Fixture fireplace "fireplace" Hall
  with  name 'fireplace' 'great' 'mantel' 'mantelpiece' 'chimney' 'pegs' 'hearth',
        description "You could stable a pony in it. Two pegs above the mantel are the right distance apart for a sword.",
        before [; Enter, Climb: "There is nothing up there but a jackdaw's idea of building material."; ],
  has   static;
Fixture stair "stair" Hall
  with  name 'stair' 'stairs' 'shadow' 'shadows',
        description "It goes up, complaining in advance.",
        before [; Climb, Enter: <<Go u_obj>>; ];
Object  sword "short sword" Hall
  with  name 'sword' 'short' 'blade' 'cutlass' 'weapon' 'hanger' 'wrecker^s' 'edge',
        initial "A short sword hangs above the fireplace.",
        description "A wrecker's hanger, short and ugly and kept very sharp. It is a thing for ropes and arguments.",
        after [; Take: if (task_done->T_SWORD) "Taken."; Achieved(T_SWORD); "You lift the sword down. The edge is better kept than anything else in the house."; ];

Object  chest "sea chest" Hall
  with  name 'chest' 'sea' 'sea-chest' 'box' 'lid' 'trunk' 'lining' 'hollow' 'hollows' 'teak' 'ballast' 'reeve^s' 'green',
        description [;
            print "A sea chest of teak and brass, with five hollows in its green lining, each cut to the shape of a thing that
                is not a shirt. ";
            if (self hasnt open) "The lid is down.";
            if (child(self) == 0) "It is empty.";
            <<Search self>>;
        ],
        before [;
          Take, Push, Pull: "It is full of ballast, or of being a reeve's. It does not move.";
          Attack: "Teak. It has been through worse than you.";
        ],
        describe [;
            if (self hasnt open) "^The sea chest is shut.";
            if (child(self) == 0) "^The sea chest is open, and empty.";
            print "^The sea chest is open, and holds ";
            WriteListFrom(child(self), ENGLISH_BIT);
            ".";
        ],
        after [;
          Open: if (child(self) == 0) "You raise the lid upon five hollows, all of them empty.";
          Receive: return Entered(noun);
        ],
  has   static container openable;

[ Entered thing  t n;
    if (~~(thing ofclass Treasure)) rfalse;
    Achieved(T_STORED + thing.entry);
    objectloop (t ofclass Treasure) if (t in chest) n++;
    if (n < 5) "You lay ", (the) thing, " in the chest. It fits its hollow as if it had never been away.";
    give chest ~open ~openable locked;
    print "You lay ", (the) thing, " in the last of the five hollows. The lid comes down of its own accord, and far out over the shore the
    noise of water, which you had stopped hearing, stops. Slack water. The causeway will be dry. ~Go home,~ says the lock.^^";
    WalkHome();
];

Room    Counting_Room "Counting Room"
  with  description [;
            print "The reeve did his sums here, at a tall desk with its back to the view. The hall is east. In the middle of the
                floor is a trap door, ";
            if (trap_door has open) "standing open upon a flight of steps that goes down into the dark.";
            "shut. A counterweight hangs beside it on a chain.";
        ],
        e_to Hall,
        d_to trap_door;

Fixture desk "tall desk" Counting_Room
  with  name 'desk' 'tall' 'view',
        description "Made for standing at, so that nobody should enjoy it.",
  has   supporter;
Object  ledger "ledger" desk
  with  name 'ledger' 'book' 'accounts' 'page' 'pages' 'day-book' 'eelskin' 'reeve^s',
        description "The reeve's day-book, bound in eelskin. The last pages in use are dense with reading.",
        before [; Consult, Open, Turn: <<Read self>>; ],
        inscription [;
            Achieved(T_LEDGER);
            print "~3 March. Tried the troll in the old toll arch with a cheese. It took it gratefully. Went to pass and left half a
                coat in its hand. NOTE WELL: a gift only tells it that you are a person who has things on him.^
                ^9 March. Washed it with a bottle from my own well, on the parson's advice. It said thank you.^
                ^11 March. BRINE, out of the pans, thrown. The creature is but mud and manners, and salt undoes both. It
                will be back with the rains.^
                ^20 March. The jackdaw has my spectacles now. All it takes goes to its nest in my loft. It can't abide
                the boy's clapper, so I go to bed with that.^";
            print "^2 April. Dropped the brass key of my chamber in the cistern, below. The iron one by the range fits
                nothing since the east gate fell in the sea. I keep it, as one does.^
                ^5 April. The wall in the salt gallery listens still. Its word is cut in the chapel on the islet, and I will
                not write it twice. Mem.: the trap door drops its bar behind one. Go out by the culvert.~^";
        ],
  has   readable;
Fixture counterweight "counterweight" Counting_Room
  with  name 'counterweight' 'weight' 'lump' 'chain' 'bar' 'wheel' 'lead' 'stout',
        description "A lump of lead on a chain, running over a wheel to the trap door, and a stout bar beside. You can see how it
            is meant to work: whoever goes down lets the weight go, the weight shuts the door, and the door drops the bar.",
        before [; Take, Pull, Push, Tie, Cut: "It was hung by someone who expected people to try that."; ];

Object  trap_door "trap door"
  with  name 'trap' 'door' 'trapdoor' 'hatch' 'ring' 'iron',
        description [;
            if (real_location == Cellar) "Oak, overhead, and barred on the other side.";
            if (self has open) "It stands open. The weight beside it sways a little, waiting.";
            "Oak, in the floor, with an iron ring to lift it by. It can be opened from this side.";
        ],
        found_in Counting_Room Cellar,
        door_dir [; if (real_location == Cellar) return u_to; return d_to; ],
        door_to [;
            if (real_location == Cellar) { print "The trap door is barred above you.^"; rtrue; }
            give self ~open;
            print "You go down the steps. Behind you the counterweight runs out, the trap door comes down like a verdict, and
                you hear the bar drop across it on the far side.^";
            return Cellar;
        ],
        before [;
          Search: if (self has open) "Steps, and then dark."; "It is shut.";
          Open, Push, Pull, Attack, Unlock, Knock:
            if (real_location == Cellar) "You set your shoulder to it. It is barred from above, and will stay so.";
            if (action == ##Pull) <<Open self>>;
        ],
        after [; Open: "You heave up the trap door. Cold air comes out, and a smell of low tide, and a click."; ],
  has   scenery static door openable;

Room    Landing "Landing"
  with  description "A landing where several portraits of reeves disapprove of the stair. An oak door is to the east. A ladder goes
            up to the loft, and the stair goes down to the hall.",
        d_to Hall,
        u_to Loft,
        e_to oak_door;

Fixture portraits "portraits" Landing
  with  name 'portrait' 'portraits' 'reeves' 'painting' 'paintings' 'picture' 'sallow' 'sallows' 'expression' 'keys' 'several' 'thumb',
        description "Eleven Sallows, one expression. Each holds a pair of keys, and each has a thumb over the iron one.",
  has   pluralname;
Fixture ladder "ladder" Landing
  with  name 'ladder' 'rung' 'rungs',
        description "Seven rungs, of which you would trust five.",
        before [; Climb, Enter: <<Go u_obj>>; ];

Object  oak_door "oak door"
  with  name 'oak' 'door' 'lock' 'keyhole' 'chamber' 'plate' 'brass',
        description [;
            print "An oak door with a brass lock plate, ";
            if (self has locked) "locked.";
            if (self has open) "open.";
            "shut.";
        ],
        found_in Landing Chamber,
        door_dir [; if (real_location == Chamber) return w_to; return e_to; ],
        door_to [; if (real_location == Chamber) return Landing; return Chamber; ],
        with_key brass_key,
        before [;
          Unlock, Open:
            if (second == iron_key)
                "The iron key goes in, turns an eighth, and thinks better of it. It is the wrong key.";
            if (action == ##Open && self has locked && brass_key in player) {
                give self ~locked;
                Achieved(T_CHAMBER);
                print "The brass key turns as if it had been oiled this morning. ";
            }
          Search: if (self hasnt open) "Through the keyhole: part of a bed, made, and part of a window.";
          Attack: "It is three inches thick. You are not.";
        ],
        after [;
          Unlock:
            Achieved(T_CHAMBER);
            "The brass key turns as if it had been oiled this morning.";
        ],
  has   scenery static door openable lockable locked;

Room    Chamber "Reeve's Chamber"
  with  description "The bed is made, the clock is stopped, the window is full of sea. Someone lived here who liked to see what was
            coming. The only door is west.",
        w_to oak_door,
        out_to oak_door;
Fixture bed "bed" Chamber
  with  name 'bed' 'blanket',
        description "Neat, and not for you.",
        before [; Enter: "You have an errand."; ];
Fixture bedside "bedside table" Chamber
  with  name 'bedside' 'table' 'ring' 'candle',
        description "Round, with a ring where a candle was.",
  has   supporter;
Treasure hourglass "tide glass" bedside
  with  name 'hourglass' 'tide' 'glass' 'tide-glass' 'pearl' 'mother-of-pearl' 'sand',
        entry 3,
        description "An hourglass mounted in mother-of-pearl. It runs six hours and thirteen minutes, and turns itself over.",
        before [; Turn: "It turns itself, and does not care to be helped."; ];

Room    Loft "Loft"
  with  description "Rafters, slates, and a hole through which the sky has been getting in. Under the hole a jackdaw's nest
            leans on the chimney, a cartload of sticks. The ladder goes down.",
        d_to Landing,
        u_to "The hole is of a size for jackdaws.",
        out_to "The hole is of a size for jackdaws.",
        flight Front_Yard Back_Garden Orchard;
Fixture rafters "rafters" Loft
  with  name 'rafter' 'rafters' 'hole' 'sky' 'slates' 'roof' 'chimney',
        description "The hole is a jackdaw wide. The rest is roof.",
        before [; Search: "Through the hole: sky."; ],
  has   pluralname;
Object  nest "jackdaw's nest" Loft
  with  name 'nest' 'sticks' 'jackdaws' 'cartload' 'jackdaw^s' 'wool' 'hollow',
        description [;
            print "Sticks, wool, a spectacle case, and a hollow in the middle for the good things. ";
            <<Search self>>;
        ],
        before [; Take, Push, Attack: "It goes a long way down the chimney. You leave it its foundations."; ],
  has   scenery static container open;
Object  button "brass button" nest
  with  name 'button' 'brass',
        description "From a reeve's second-best coat.",
  has   shiny;
