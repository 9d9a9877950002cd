! The island out of doors: causeway, lane, yards, garden, orchard, salt pans.

Room    Causeway_End "Causeway End"
  with  description [;
            "The causeway from the mainland climbs out of the sea here and becomes, with visible relief, dry
                land. A milestone stands where the stones end. A sunken lane leads north, between banks. South, the
                causeway goes back to the world; but the tide is over it now, brown and quick, and a fence post goes by at the
                speed of a horse.";
        ],
        n_to Hollow_Lane,
        s_to [;
            if (self hasnt general) {
                give self general;
                "You step out along the drowned stones, and the tide has you by the knees. You get back, on all fours. It will not
                let go of you twice.";
            }
            deadflag = 1;
            "You step out along the drowned stones again, and the third one is not there. The tide takes you as it took the
            fence post, and with no more malice.";
        ],
        before [;
          Swim: "Not against that. Nobody swims against that.";
        ],
        flight Hollow_Lane Salt_Pans;

Fixture milestone "milestone" Causeway_End
  with  name 'milestone' 'stone' 'mile' 'stones' 'face' 'letters' 'lichen' 'landward',
        description "Waist high, lichened, and lettered on the landward face.",
        inscription "HOO 0^THE WORLD 2^and underneath, in a later hand: NOT AT HIGH WATER.",
  has   readable supporter;

Object  penny "copper penny" milestone
  with  name 'penny' 'copper' 'coin' 'money' 'luck',
        description "Left for luck, and rubbed bright by people wishing for some.",
  has   shiny;

Fixture sea "sea" Causeway_End
  with  name 'sea' 'tide' 'water' 'causeway' 'river' 'brine' 'seawater' 'salt',
        description "The tide runs over the causeway like a river that is late for something. Nobody is walking through that.",
        before [;
          Take: "It is too much for your hands. A bottle might hold some.";
          Insert: if (second == bottle) <<Fill bottle>>;
          Receive: if (noun == bottle) <<Fill bottle>>; "It would be gone for good. You keep it.";
          Drink: "Salt. You knew that.";
          Enter, Climb, JumpIn: "It would have to be by the causeway, south, and it ought to be some other day.";
        ];

[ WalkHome;
    Achieved(T_HOME);
    deadflag = 2;
    "You walk out along the causeway with dry feet. Behind you the chest, its accounts squared, says nothing whatever;
    and a small bell, which nobody is near enough to ring, rings once. Halfway across you turn to look. The tide is
    coming in over the stones again, a polite ten yards behind your heels, and it sees you all the way to the door.";
];

Room    Hollow_Lane "Hollow Lane"
  with  description "The lane has been walked so long that it has sunk to its shoulders between banks of alexanders and
            hart's-tongue. It runs from the causeway, south, to a house that shows its chimneys to the north. A cinder
            track goes off west, where the air is white and smells of salt.",
        s_to Causeway_End,
        n_to Front_Yard,
        w_to Salt_Pans,
        flight Causeway_End Front_Yard Salt_Pans Orchard;

Fixture banks "banks" Hollow_Lane
  with  name 'bank' 'banks' 'alexanders' 'fern' 'ferns' 'tongue' 'hart^s-tongue' 'shoulders',
        description "Green, damp and of no further consequence.",
  has   pluralname;

Room    Front_Yard "Front Yard"
  with  description "Withy House turns a long flint face to you, every shutter closed, like somebody listening with his
            eyes shut. The front door is to the north, under a notice. A path goes round the house by way of the well
            yard to the west and another by the orchard to the east. The lane begins at the gate, south.",
        n_to front_door,
        s_to Hollow_Lane,
        w_to Well_Yard,
        e_to Orchard,
        flight Hollow_Lane Well_Yard Orchard Loft;

Fixture house_front "house"
  with  name 'house' 'withy' 'flint' 'face' 'shutter' 'shutters' 'wall' 'walls' 'slate' 'chimney' 'chimneys'
            'eaves' 'roof' 'side' 'long' 'back' 'solid',
        description "Flint to the eaves, slate above, and nobody in between. The shutters on this side are solid oak. The
            back of a house is often more forthcoming than its front.",
        before [;
          Enter: "Doors and windows are the usual means.";
          Open, Search: "The shutters on this side are closed, and solid oak.";
          Climb: "It is flint, and has nothing to climb by.";
        ],
        found_in Front_Yard Well_Yard Back_Garden;

Object  front_door "front door"
  with  name 'front' 'door' 'nail' 'nails' 'nailed' 'oak' 'plank' 'planks' 'heads' 'four' 'forty',
        description "Nailed shut: four planks across it, and forty nails to a plank, driven by someone who was paid by the
            nail. The heads are rusted into the wood. It is not so much a door now as a piece of wall with a history.",
        found_in Front_Yard Hall,
        door_dir [; if (real_location == Hall) return s_to; return n_to; ],
        door_to [; return 0; ],
        before [;
          Open, Unlock: "The front door is nailed shut, and means it.";
          Pull, Push, Take, Turn: "You pull at the planks. The nails do not notice.";
          Attack, Cut: "You hurt your hand. The door is unmoved, in every sense.";
          Enter, Climb: "The front door is nailed shut.";
        ],
  has   scenery static door openable;

Fixture notice "notice" Front_Yard
  with  name 'notice' 'paper' 'sign' 'pane' 'cracked' 'solicitor^s',
        description "A solicitor's notice under a cracked pane, pinned with unnecessary force.",
        inscription "~ESTATE OF THE LATE A. SALLOW, REEVE OF HOO. This door has been secured by order of Grote & Pell.
            Persons having business with the estate will know how to get in. Persons not having business will observe that
            the window at the back is NOT a means of entry.~",
  has   readable;

Room    Well_Yard "Well Yard"
  with  description "A cobbled yard on the west side of the house, with a well in the middle of it. There is no lid, no
            winch and no rope; the shaft simply goes down, and from a long way below comes a sound of water minding its own
            business. Paths lead east to the front yard and northeast to the garden.",
        e_to Front_Yard,
        ne_to Back_Garden,
        d_to [;
            if (self hasnt general) {
                give self general;
                "You put one leg over the edge, and a stone goes down ahead of you. You count four before the splash, and take
                the leg back. Anyone who climbed down there would not climb up.";
            }
            deadflag = 1;
            "You lower yourself over the edge and feel for a foothold with one boot, then with both, and then you are no
            longer on the edge. The well is forty feet deep, and thirty of them are water.";
        ],
        flight Front_Yard Back_Garden;

Fixture well "well" Well_Yard
  with  name 'well' 'shaft' 'water' 'edge' 'hole' 'ring' 'sound' 'splash' 'black' 'worn',
        description "A ring of worn stone about a very black hole. The water stands to the brim of a stone trough beside it,
            sweet and cold. Climbing down would be easy, in the sense that falling is.",
        before [;
                    Search: "A very black hole, and a long way down a small round piece of sky.";
          Listen: "A long way below, water minds its own business.";
          Enter, Climb, JumpIn: "There is nothing to climb by. The only way is down, and it has no other virtues.";
          Take: "It is too much for your hands. A bottle might hold some.";
          Insert: if (second == bottle) <<Fill bottle>>;
          Receive: if (noun == bottle) <<Fill bottle>>; "It would be gone for good. You keep it.";
          Drink: "Sweet, and so cold that it has edges.";
        ];
Fixture trough "stone trough" Well_Yard
  with  name 'trough' 'stone' 'brim' 'worn',
        description "Full of the well's own water. Somebody must have carried it there; it was a long time ago.",
        before [; Drink: <<Drink well>>; Insert: if (second == bottle) <<Fill bottle>>; ];

Room    Back_Garden "Back Garden"
  with  description [;
            print "Cabbages gone to trees, and a bush of black berries that nobody planted. The back wall of the house is
                to the south. Paths lead southwest to the well yard and southeast to the orchard. Low in the wall is a
                small window, ";
            if (window has open) "which is open.";
            "which is shut.";
        ],
        s_to window,
        in_to window,
        sw_to Well_Yard,
        se_to Orchard,
        flight Well_Yard Orchard Loft;

Fixture cabbages "cabbages" Back_Garden
  with  name 'cabbage' 'cabbages' 'garden' 'tree' 'trees',
        description "Taller than you, and bitter about it.",
  has   pluralname;

Object  berries "black berries" Back_Garden
  with  name 'berry' 'berries' 'black' 'nightshade' 'collar' 'rhyme' 'five-pointed' 'glossy',
        initial "Some of the berries hang within easy reach.",
        description "Glossy, black, and a little too eager to please. Each sits in a five-pointed collar of green. You were
            taught a rhyme about that, and the rhyme did not end well.",
        before [;
          Eat, Taste:
            deadflag = 1;
            "Sweet, and then not sweet. The garden grows very bright and very far away. The word that you were trying to
            remember was nightshade.";
        ],
  has   edible pluralname;

Object  window "small window"
  with  name 'window' 'frame' 'casement' 'catch' 'wire' 'twist' 'pane' 'panes' 'small' 'back',
        description [;
            give self general;
            if (self has open) "The window stands open, wide enough for a clerk.";
            "A casement of six small panes, wide enough for a clerk. Looking closely, you see what holds it: nothing but a
            twist of wire round the catch, put on from outside, and easily undone now that you know of it.";
        ],
        found_in Back_Garden Kitchen,
        door_dir [; if (real_location == Kitchen) return n_to; return s_to; ],
        door_to [; if (real_location == Kitchen) return Back_Garden; return Kitchen; ],
        when_open 0,
        before [;
          Open:
            if (self hasnt general)
                "You push at the frame. Something holds it; you would have to look more closely to see what.";
          Search:
            if (real_location == Kitchen) "Through the glass: cabbages.";
            "Through the glass: a kitchen, with nobody in it.";
          Attack: "The estate would only send you the bill.";
          Climb: <<Enter self>>;
          Take, Remove, Pull, Push, Untie, Turn, Cut: <<Open self>>;
        ],
        after [;
          Open:
            if (task_done->T_WINDOW) "The window opens with the small scream of all such windows.";
            Achieved(T_WINDOW);
            "You untwist the wire, and the window opens with the small scream of all such windows.";
        ],
  has   scenery static door openable;

Room    Orchard "Orchard"
  with  description "One tree is left of the orchard, a pear of great age, and it stands to the east side of the house like a
            guest who did not hear that it was over. Its first branch begins a long way up. The front yard is west, the
            garden northwest.",
        w_to Front_Yard,
        nw_to Back_Garden,
        u_to [; <<Climb pear_tree>>; ],
        flight Front_Yard Back_Garden Loft Hollow_Lane;

Fixture pear_tree "pear tree" Orchard
  with  name 'tree' 'branch' 'branches' 'bark' 'trunk',
        parse_name [ n tree w;
            w = NextWord();
            if (w == 'pear') { n++; w = NextWord(); }
            while (w == 'tree' or 'branch' or 'branches' or 'bark' or 'trunk') { tree = 1; n++; w = NextWord(); }
            if (tree) return n;
            return 0;
        ],
        description "The trunk is as smooth as a bannister and shines with wet. There is an old nest in the top, of last year
            or the year before, and plainly empty.",
        before [;
          Climb, Enter: "You embrace the trunk, rise eighteen inches, and return. It is too smooth and too wet: this tree
            can't be climbed.";
          Cut, Attack: "It has outlived better swords than yours.";
        ];
Fixture old_nest "old nest" Orchard
  with  name 'nest' 'old' 'top' 'daylight',
        description "Empty: you can see daylight through it. Whoever nests on this island now does it elsewhere.",
        before [; Take, Remove, Search: "It is in the top of the tree, and you are not."; ];

Fixture grass "grass" Orchard
  with  name 'grass' 'orchard',
        description "Long, wet, and nobody's.";

Object  pear "pear" Orchard
  with  name 'pear' 'windfall' 'fruit' 'single',
        initial "A single windfall pear lies in the grass.",
        description "Yellow, freckled, and sound, apart from a wasp's front door.",
        after [; Eat: "The wasp had already had the best of it."; ],
  has   edible;

Object  clapper "wooden clapper" Orchard
  with  name 'clapper' 'wooden' 'rattle' 'scarer' 'bird-scarer' 'boy^s' 'bird-scarer^s' 'boards' 'board' 'hinge',
        initial "A wooden clapper hangs by a string from a nail in the trunk.",
        description "Two boards and a hinge: a bird-scarer's clapper, from the days when there was a boy to go with it. No bird
            would come near whoever holds it.",
        before [;
          Wave, Ring, Push, Swing:
            if (jackdaw in real_location) {
                move jackdaw to Loft;
                "CLACK. The jackdaw leaves, by the shortest way.";
            }
            "CLACK. Every bird in earshot thinks of somewhere else to be.";
        ],
        after [;
          Take:
            if (task_done->T_CLAPPER) "Taken. It gives one clack.";
            Achieved(T_CLAPPER);
            "You unhook the clapper. It gives one clack, from habit.";
        ];

Room    Salt_Pans "Salt Pans"
  with  description "Square pans of brine lie here like window glass put down to dry, each with a white crust creeping in from
            its edges. A hut stands to the north, the cinder track goes back east, and to the west the ground gives up and
            becomes marsh. In the bank by your feet is the iron flap of a culvert.",
        e_to Hollow_Lane,
        n_to Salt_Cote,
        w_to Marsh_Post,
        in_to "The flap opens outwards only. There is no handle on this side, and no gap for a finger.",
        flight Hollow_Lane Causeway_End Staithe;

Fixture pans "brine pans" Salt_Pans
  with  name 'pan' 'pans' 'brine' 'salt' 'crust' 'water' 'glass' 'edges' 'square' 'white' 'sea',
        description "Sea water, sunned until it is strong enough to float an egg. The crust is salt; the rest is only waiting.",
        before [;
          Take, Push, Pull, Turn, Touch:
            if (bottle in player && child(bottle) == 0) <<Fill bottle>>;
            "It is too much for your hands. A bottle might hold some.";
          Insert: if (second == bottle) <<Fill bottle>>;
          Receive: if (noun == bottle) <<Fill bottle>>; "It would be gone for good. You keep it.";
          Drink, Taste: "Your tongue tries to leave.";
        ],
  has   pluralname;
Fixture flap "iron flap" Salt_Pans
  with  name 'flap' 'culvert' 'iron' 'drain' 'bank' 'hinge' 'handle' 'gap',
        description "Hinged at the top, and shaped to let out what comes down the culvert and let in nothing.",
        before [; Open, Pull, Push, Enter, Turn: "The flap opens outwards only, from within."; ],
  has   static;

Fixture hut "hut" Salt_Pans
  with  name 'hut' 'cote' 'plank' 'planks',
        description "Planks, tarred once. It will be to the north for a while yet.",
        before [; Enter: <<Go n_obj>>; ];

Room    Salt_Cote "Salt Cote"
  with  description "A plank hut where the salt was boiled, white inside as if it had snowed. One shelf, one cold hearth, one
            slate on the wall. The door is to the south.",
        s_to Salt_Pans,
        out_to Salt_Pans;

Fixture shelf "shelf" Salt_Cote
  with  name 'shelf',
        description "A plank on two pegs.",
  has   supporter;
Fixture hearth "hearth" Salt_Cote
  with  name 'hearth' 'cold' 'fireplace' 'ash' 'ashes',
        description "Cold since the last salter left.";
Fixture slate "slate" Salt_Cote
  with  name 'slate' 'wall' 'chalk' 'capitals',
        description "Chalked upon, in capitals, by someone who had been asked too often.",
        inscription "BOTTLES ARE FILLED AT THE PANS, NOT HERE. WELL WATER IS FOR DRINKING. PAN WATER IS FOR PICKLES, SORE FEET
            & TROLLS.",
  has   readable;
