! The staithe, the punt, and where the punt goes.

Room    Staithe "Staithe"
  with  description [;
            print "A landing of grey planks at the edge of the mere. The marsh begins again to the east; all the west is water, with a
                small island in the north of it, and a chapel on the island.";
            if (punt in self && punt hasnt general) print " A punt lies alongside, made fast with a tarred rope.";
            new_line; rtrue;
        ],
        initial [; Achieved(T_STAITHE); ],
        e_to Marsh_Stump,
        w_to [;
            if (punt notin self) "You would need something that floats.";
            if (punt hasnt general && sword notin player) "The punt would take you; but it is made fast with a tarred rope, and the knot has set
                like stone. It wants a blade.";
            CastOff();
            if (player in punt) return Mere;
            move player to punt;
            print "You step into the punt and push off.^";
            <<Go w_obj>>;
        ],
        nw_to [; return self.w_to(); ],
        before [; Swim: "The mere is as cold as a key, and a good deal wider than you are."; ],
        flight Salt_Pans Chapel_Islet;
Fixture mooring "tarred rope" Staithe
  with  name 'rope' 'tarred' 'mooring' 'knot' 'line' 'tar',
        description [;
            if (punt has general) "What is left of it hangs from its ring.";
            "The knot has set like stone. Nobody will untie it; it wants a blade.";
        ],
        before [;
          Untie, Pull, Take, Open: if (punt has general) "It has been cut."; "The knot has set like stone. It wants a blade.";
          Cut, Attack:
            if (punt has general) "It has been cut.";
            if (sword notin player) "You have nothing to cut it with. It would take a real blade.";
            CastOff();
            rtrue;
        ],
  has   static;

! With a blade in hand, who sets out in the punt cuts its rope.
[ CastOff;
    if (punt has general) return;
    give punt general;
    Achieved(T_PUNT);
    print "One stroke of the sword, and the rope parts. The punt moves a foot and waits.^";
];

Object  punt "punt" Staithe
  with  name 'punt' 'boat' 'vessel',
        description [;
            print "Flat, tarred, and dry inside, with a pole in it. It goes where it is pushed, and is for getting into. ";
            if (self hasnt general) "It is made fast to the staithe with a rope.";
            "";
        ],
        describe [; if (self in Staithe && self hasnt general) rtrue; "^The punt lies here."; ],
        before [;
          Go:
            if (noun == d_obj or u_obj) rfalse;
            if (self in Staithe) {
                if (noun == e_obj) { move player to Staithe; <Go noun>; return 2; }
                if (noun ~= w_obj or nw_obj) rfalse;
                if (self hasnt general && sword notin player) { print "The punt goes as far as its rope goes, which is not far. The knot has
                    set like stone. It wants a blade.^"; return 2; }
                CastOff();
                return 1;
            }
            if (self in Chapel_Islet && noun ~= s_obj) {
                if (noun ~= n_obj or in_obj) rfalse;
                move player to Chapel_Islet;
                print "You step ashore.^";
                <Go noun>;
                return 2;
            }
            return 1;
          Take, Push, Pull: "It is heavier than that.";
          Untie: if (sword notin player) <<Untie mooring>>; <<Cut mooring>>;
          Cut: <<Cut mooring>>;
        ],
        after [;
          Enter: "You step into the punt. It considers tipping you out, and does not.";
        ],
  has   static container enterable open;

Fixture mere_water "mere"
  with  name 'mere' 'water' 'lake' 'open' 'smooth',
        description "Wide, fresh and grey, and stirred by something slow from the south.",
        found_in Staithe Mere Chapel_Islet,
        before [;
          Drink: "Fresh, with a taste of reeds.";
          Take: "It is too much for your hands. A bottle might hold some.";
          Insert: if (second == bottle) <<Fill bottle>>;
          Receive: if (noun == bottle) <<Fill bottle>>; "It would be gone for good. You keep it.";
          Enter, Swim, JumpIn: "The mere is as cold as a key, and a good deal wider than you are.";
        ];

Room    Mere "Open Mere"
  with  description "The middle of the mere. An islet with a chapel lies north, the staithe lies east, and a wall of reeds stands to the
            west. Southward the water bends, smooth as glass, towards a sluice that you can hear from here.",
        e_to Staithe,
        n_to Chapel_Islet,
        w_to "The reeds will not have the punt.",
        s_to [;
            if (self hasnt general) {
                give self general;
                "The punt slides south, and begins to slide faster. You get it back with everything that you and the pole have. There
                would be no getting it back a second time.";
            }
            deadflag = 1;
            "The punt slides south, and then it slides faster. You have time to see the lip of the sluice, to use the pole, and
            to see what the sluice does with the pole.";
        ],
        before [;
          Exit, GetOff, Swim, Disrobe: "Out of the punt there is only mere, and it is cold.";
        ];
Fixture sluice "sluice" Mere
  with  name 'sluice' 'lip' 'noise' 'mill',
        description "A lip of smooth water, and a noise under it like a mill grinding mills. Nobody has come back from it with a
            description.";

Room    Chapel_Islet "Chapel Islet"
  with  description "An acre of sheep-bitten turf without a sheep. The chapel stands to the north with its door fallen in. The mere is
            all round you; the open water is south.",
        n_to Chapel,
        in_to Chapel,
        s_to [;
            if (punt notin self) "You would need something that floats.";
            if (player in punt) return Mere;
            move player to punt;
            print "You step into the punt and push off.^";
            <<Go s_obj>>;
        ],
        before [; Swim: "The mere is as cold as a key, and a good deal wider than you are."; ],
        flight Staithe;
Fixture chapel_front "chapel" Chapel_Islet
  with  name 'chapel',
        description "Small, square, and roofed with sky.",
        before [; Enter: <<Go n_obj>>; ];

Room    Chapel "Ruined Chapel"
  with  description "Four walls and a floor of daisies. An altar slab stands at the end, and an inscription runs over the door, on
            the inside, where only those who are leaving will see it. The way out is south.",
        initial [; Achieved(T_CHAPEL); ],
        s_to Chapel_Islet,
        out_to Chapel_Islet;
Fixture carving "inscription" Chapel
  with  name 'inscription' 'plain' 'letters' 'lintel' 'writing' 'carving' 'words' 'word',
        description "Deep, plain letters, cut by someone who expected to be read by candle.",
        inscription [;
            give self general;
            Achieved(T_WORD);
            "THE WALL THAT HAS AN EAR WANTS BUT ONE WORD IN IT, AND THE WORD IS ~EBBANDRY~.^SAY IT, AND SHUT THE DOOR AFTER YOU.";
        ],
  has   readable;
Fixture altar "altar" Chapel
  with  name 'altar' 'slab' 'clean' 'slate' 'moss' 'ring',
        description "One slab of slate, with a clean ring in the moss where something stands, or stood.",
  has   supporter;
Treasure handbell "silver handbell" altar
  with  name 'bell' 'handbell' 'silver' 'hand',
        entry 1,
        description "Silver, and the size of a pear. It has a very clear opinion of itself.",
        before [; Ring, Wave, Swing, Push: "One note, very small and clear. Out on the mere a fish thinks better of it."; ];
