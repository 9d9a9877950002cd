! Four places called Marsh, and the landing beyond them.

! Once in each place, it lets go.
[ BrightGreen;
    if (real_location hasnt general) {
        give real_location general;
        "You step out on the bright green and go in to the thigh. It is a long business getting back to the tussock, and the marsh
        seems to be learning as it goes. You had better not try the green a second time here.";
    }
    deadflag = 1;
    "You step out on the bright green, and it is exactly as deep as it is bright. It closes over your hat without a mark.";
];

Room    Marsh_Post "Marsh"
  with  description "Reeds to your shoulder, water to your ankle. A tarred post leans here. Firm tussocks lead north; the salt pans are
            back to the east. To the west the ground is a smooth bright green, like baize.",
        e_to Salt_Pans,
        n_to Marsh_Heron,
        w_to BrightGreen;
Fixture tarred_post "tarred post" Marsh_Post
  with  name 'post' 'posts' 'tarred' 'tar' 'marker' 'cut',
        description "A marker, knee high. There is a cut in it for everyone who did not follow the posts, and not much post left.",
        inscription "Somebody has cut: WHERE IT IS BRIGHT IT IS DEEP.",
  has   readable;

Room    Marsh_Heron "Marsh"
  with  description "A pool, and a heron standing in it like an umbrella that was left behind. Tussocks lead south and west. To the
            north the ground is a smooth bright green. To the east there are only reeds.",
        s_to Marsh_Post,
        w_to Marsh_Ribs,
        n_to BrightGreen,
        e_to "The reeds stand as close as bristles there.";
Fixture heron "heron" Marsh_Heron
  with  name 'heron' 'bird' 'umbrella' 'eye',
        description "It looks at you with one eye, decides that you are not a fish, and lets you go.",
        before [; Take, Attack, Kiss: "It takes one step, and is out of reach, and has not moved at all."; ],
  has   animate;

Room    Marsh_Ribs "Marsh"
  with  description "The ribs of a boat stand up out of the mud in two rows, holding nothing. Tussocks lead east and south. Bright
            green lies to the north, as level as a billiard table.",
        e_to Marsh_Heron,
        s_to Marsh_Stump,
        n_to BrightGreen;
Fixture ribs "boat ribs" Marsh_Ribs
  with  name 'rib' 'ribs' 'boat' 'wreck' 'rows',
        description "She was called the Prudence, if what is left of the transom can be believed.",
  has   pluralname;

Room    Marsh_Stump "Marsh"
  with  description "A willow stump has set up here as an island. Tussocks lead back north; to the west there are planks, and
            something like open water. South and east is bright green.",
        n_to Marsh_Ribs,
        w_to Staithe,
        s_to BrightGreen,
        e_to BrightGreen;
Fixture stump "willow stump" Marsh_Stump
  with  name 'stump' 'willow' 'hollow' 'middle' 'island',
        description "Hollow in the middle, and dry. The sort of place where the sea puts things by.",
  has   container open;
Treasure amber "amber bead" stump
  with  name 'amber' 'bead' 'gnat',
        entry 0,
        description "The size of a plover's egg, with a gnat in it that was busy at the time.";

Fixture reeds "reeds"
  with  name 'reed' 'reeds' 'tussock' 'tussocks' 'mud' 'ground' 'green' 'bright' 'smooth' 'firm' 'baize' 'water' 'marsh',
        description "Where it is rough and dun it bears a clerk. Where it is bright and smooth you would not bet a clerk on it.",
        found_in Marsh_Post Marsh_Heron Marsh_Ribs Marsh_Stump,
        before [; Drink: "It is more marsh than water."; Enter: "Say which way."; ],
  has   pluralname;
