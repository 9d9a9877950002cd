! Verbs that the library lacks, and two that it reads otherwise.

[ ReadSub;
    if (noun hasnt readable) "There is nothing written on ", (the) noun, ".";
    PrintOrRun(noun, inscription);
];

[ RingSub; "It makes no sound worth the name."; ];
[ LiftSub; if (noun has openable) <<Open noun>>; <<Take noun>>; ];
[ KnockSub; "Nobody answers, and nobody was expected to."; ];
[ TalkSub;
    if (noun has animate && RunLife(noun, ##Ask)) rtrue;
    "Nothing comes of it.";
];
[ UntieSub; "It is not tied."; ];

[ HomeSub;
    "The causeway is under water, and will be until the accounts balance.";
];

[ MagicSub;
    if (real_location ~= Salt_Gallery || blind_wall has open) "You say it aloud. Nothing here has an ear for it.";
    give blind_wall open;
    Achieved(T_WORD);
    "You say it. The ear goes pink. Then the whole wall, with the tact of a good butler, withdraws to the right, and leaves a doorway east.";
];

[ SayTopicSub  word;
    wn = consult_from;
    word = NextWord();
    if (word == 'ebbandry') <<Magic>>;
    if (real_location == Salt_Gallery && blind_wall hasnt open) "The ear listens politely, and goes on waiting for another word.";
    if (troll in real_location && lightflag) "~Have you brought me anything?~ says the troll.";
    "You say so. Nobody disputes it.";
];

Extend 'say' first
    * -> Shout
    * topic -> SayTopic;

Extend 'read' replace
    * noun -> Read
    * 'about' topic 'in' noun -> Consult
    * topic 'in' noun -> Consult;

Extend 'eat' replace
    * noun -> Eat;

Extend 'throw' first
    * noun -> ThrowAt
    * noun 'at'/'on'/'over' noun -> ThrowAt
    * noun 'to' noun -> ThrowTo
    * multiexcept 'in'/'into'/'down' noun -> Insert
    * multiheld 'away' -> Drop;
[ ThrowToSub; if (second has animate) <<Give noun second>>; <<ThrowAt noun second>>; ];

Extend 'fill'
    * noun 'with'/'at'/'in' noun -> Fill;

Extend 'cut'
    * noun 'with' held -> Cut;

Extend 'attack'
    * noun 'with' held -> Attack;

Extend 'give'
    * held 'to' noun -> Give;

Verb 'pour' 'spill' 'splash' 'tip'
    * noun -> Pour
    * 'out' noun -> Pour
    * noun 'out' -> Pour
    * noun 'on'/'onto'/'over'/'at'/'in'/'into' noun -> Pour
    * noun 'with' noun -> Pour reverse;

Verb 'lift' 'raise' 'heave'
    * noun -> Lift
    * 'up' noun -> Lift;

Verb 'extinguish' 'douse' 'snuff'
    * noun -> SwitchOff;

Verb 'talk' 'greet'
    * 'to'/'with' noun -> Talk
    * noun -> Talk;

Verb 'knock' 'rap'
    * 'on'/'at' noun -> Knock;

Extend 'climb'
    * 'through'/'in'/'into'/'out' noun -> Enter
    * 'down' noun -> Enter
    * noun=ADirection -> Go
    * 'down'/'out' -> VagueGo;

Verb 'ring' 'clap' 'rattle' 'shake'
    * noun -> Ring;

Verb 'untie' 'unfasten' 'unmoor' 'loosen'
    * noun -> Untie;


! What a person tries who has not read the solution.

[ ShoutSub; "It goes out over the Hoo, and nothing brings it back."; ];
[ HelloSub;
    if (noun == 0 && troll in real_location && lightflag) noun = troll;
    if (noun == 0 && jackdaw in real_location) noun = jackdaw;
    if (noun) <<Talk noun>>;
    "Nobody is here to be greeted.";
];
[ ThankSub;
    if (noun == troll || (noun == 0 && troll in real_location && lightflag)) "~Not at all,~ says the troll. ~Have you brought me anything?~";
    "Manners cost nothing. It is the only thing on the island that does.";
];
[ BowSub; if (troll in real_location && lightflag) "The troll bows too, as far as it bends."; "You bow. It is not returned."; ];
[ IdleSub; "There is an errand to do first."; ];
[ SitSub; "There is an errand to do first, and it isn't done sitting."; ];
[ WishSub; "Others have, and left a penny for it."; ];
[ UseSub; "You would have to say what to do with it."; ];
[ FindSub; "You would have to look for it."; ];
[ FollowSub;
    if (noun == jackdaw) "It goes by way of the roof, and you do not.";
    if (noun == sea) "It is going faster than you.";
    "You would have to say which compass direction to go in.";
];
[ ScareSub;
    if (clapper in player) <<Wave clapper>>;
    if (noun == jackdaw) "It is not afraid of clerks.";
    "That takes more than a clerk.";
];
[ CountSub; "You are not paid to count that."; ];
[ SquareSub;
    "That is done with five things, a sea chest, and no pen.";
];
[ PassSub;
    if (noun == troll or arch) <<Go n_obj>>;
    <<Enter noun>>;
];
[ WriteSub; "You have no pen. It was to be that sort of errand."; ];
[ WashSub;
    if (noun == troll && bottle in player && child(bottle)) <<Pour bottle noun>>;
    "You were not engaged to clean.";
];
[ DipSub; if (noun == bottle) <<Fill bottle>>; "It gets wet, or would."; ];
[ SailSub;
    if (noun == punt or pole or mere_water) "You would have to sit in the punt and say which compass direction to go in.";
    "That does not float.";
];
[ LookBehindSub; <<LookUnder noun>>; ];
[ DigHereSub; "You have no spade, and it would fill up as you dug."; ];
[ SwimToSub; <<Swim>>; ];
[ DescendSub; <<Go d_obj>>; ];
[ AscendSub; <<Go u_obj>>; ];
[ MagicNotSub; "It is a good word. It is another story's."; ];
[ MendSub; "It is past that, or was never otherwise."; ];

Extend 'attack'
    * noun 'with' noun -> AttackWith;
[ AttackWithSub;
    if (noun == troll && second == brine or fresh_water or bottle) <<Pour bottle troll>>;
    "You are not holding that.";
];
Verb 'strike' 'stab' 'beat' 'slash' 'slay' 'hurt' 'kick' 'bash' 'tear' 'rip' 'damage' 'fell' = 'attack';
Extend 'break' * 'down'/'open'/'into' noun -> Attack * noun 'down'/'open'/'up' -> Attack;
Verb 'sever' 'saw' = 'cut';
Verb 'leap' = 'jump';
Verb 'inspect' 'study' 'observe' 'consider' 'admire' = 'examine';
Verb 'peer' 'gaze' 'stare' 'glance' 'spy' = 'look';
Extend 'look'
    * 'around'/'round'/'about' -> Look
    * 'behind'/'beyond'/'round'/'around' noun -> LookBehind
    * 'out' -> Look
    * 'out' 'of'/'over' noun -> Search
    * 'out' noun -> Search
    * 'over'/'down'/'up'/'across'/'between'/'under' noun -> Search
    * 'for' topic -> Find
    * noun -> Examine;
Extend 'search'
    * 'in'/'under'/'through' noun -> Search
    * 'for' topic -> Find;
Extend 'search' first * -> Look;
Verb 'find' 'seek' 'locate' 'where' 'remember' 'recall'
    * topic -> Find;
Verb 'gather' 'collect' 'pluck' 'grab' 'seize' 'snatch' 'catch' 'steal' 'keep' 'fetch' 'acquire' 'unhook' 'rob' 'harvest'
    * multi -> Take
    * multiinside 'from'/'off' noun -> Remove;
Extend 'pick' * multi -> Take;
Extend 'take' * 'off' noun -> Disrobe;
Verb 'lay' 'place' 'stow' 'store' 'hang' 'stash' = 'put';
Extend 'put'
    * 'out' noun -> SwitchOff
    * noun 'out' -> SwitchOff
    * multiexcept 'back' 'in'/'into' noun -> Insert
    * multiexcept 'over'/'against'/'at' noun -> PutOn;
Verb 'return'
    * -> VagueGo
    * held 'to'/'into' noun -> Insert
    * 'to' noun -> Enter;
Extend 'go'
    * 'to'/'towards'/'toward'/'up'/'down'/'on'/'onto'/'under'/'over'/'across'/'along'/'past'/'round'/'around'/'by' noun -> Enter
    * 'out' 'of' noun -> Exit
    * 'off' noun -> Exit
    * 'away' 'from' noun -> VagueGo;
Verb 'step' 'crawl' 'slide' 'wade' 'head' 'stroll' 'sneak' 'travel' 'proceed' 'flee' 'escape' 'hurry' = 'go';
Verb 'board' 'visit' 'approach' 'reach' 'mount'
    * noun -> Enter;
Verb 'disembark' 'alight' 'dismount'
    * -> Exit
    * 'from' noun -> Exit;
Extend 'get' first
    * 'up'/'out'/'off'/'down' -> Exit
    * 'in'/'inside' -> GoIn
    * 'through'/'past'/'to' noun -> Enter
    * 'down' 'from' noun -> Exit;
Verb 'descend' * -> Descend * noun -> Enter;
Verb 'ascend' * -> Ascend * noun -> Climb;
Verb 'pass' * noun -> Pass * 'by'/'through'/'under' noun -> Pass;
Verb 'follow' 'chase' 'pursue' * noun -> Follow;
Verb 'scare' 'frighten' 'startle' 'shoo' 'distract'
    * noun -> Scare
    * noun 'away'/'off' -> Scare
    * 'away'/'off' noun -> Scare
    * noun 'with' held -> Scare;
Verb 'hello' 'hi' 'hail' 'welcome' * -> Hello * noun -> Hello;
Extend 'talk' first * -> Hello;
Verb 'thank' 'thanks' * -> Thank * noun -> Thank;
Verb 'bow' 'curtsy' 'nod' * -> Bow * 'to'/'at' noun -> Bow;
Extend 'say'
    * 'to'/'with'/'at' creature -> Talk
    * 'hello' 'to' creature -> Talk;
Verb 'yell' 'call' 'scream' 'whistle' 'cry' * -> Shout * topic -> Shout;
Extend 'ask' * creature -> Talk;
Extend 'tell' * creature -> Talk;
Verb 'dance' 'laugh' 'smile' 'hide' 'kneel' 'rest' 'relax' 'play' 'weep' 'work' 'forget' * -> Idle * topic -> Idle;
Verb 'wish' * -> Wish * topic -> Wish;
Verb 'make' * topic -> Make;
[ MakeSub; "There is nothing here to make it of, but for wishes."; ];
Verb 'stay' 'pause' 'linger' = 'wait';
Extend 'wait' * topic -> Wait;
Extend 'sit' first * -> Sit * 'down' -> Sit * 'at' noun -> Enter;
Extend 'stand' * 'in' noun -> Enter;
Verb 'count' * noun -> Count;
Verb 'square' 'balance' * -> Square * noun -> Square;
Verb 'write' 'draw' * topic -> Write;
Verb 'wash' 'rinse' 'bathe' * noun -> Wash * noun 'with'/'in' noun -> Wash;
Verb 'dip' 'submerge' 'sink' * noun 'in'/'into'/'under' noun -> Dip;
Verb 'sail' 'row' 'steer' 'paddle' 'float'
    * noun=ADirection -> Go
    * noun -> Sail
    * noun noun=ADirection -> SailOff
    * 'across'/'to'/'on' noun -> Sail;
[ SailOffSub; <<Go second>>; ];
Extend 'dig' first * -> DigHere;
Extend 'swim' * 'in'/'across'/'to'/'through'/'into' noun -> SwimTo * noun=ADirection -> SwimTo * noun -> SwimTo;
Verb 'poke' 'prod' 'nudge' 'stroke' 'pat' 'pet' 'tap' = 'touch';
Verb 'unwind' 'untwist' 'unpin' 'detach' 'release' 'free' * noun -> Untie;
Verb 'lower' 'trip' * noun -> Push;
Verb 'tug' 'yank' 'haul' = 'pull';
Extend 'pull' * 'on'/'up' noun -> Pull * 'open' noun -> Open * noun 'off'/'out' -> Pull;
Extend 'push' * 'on'/'in' noun -> Push * 'open' noun -> Open;
Extend 'close' * noun 'behind' topic -> Close;
Extend 'open' * 'up' noun -> Open;
Extend 'light' * 'up' noun -> Burn;
Extend 'turn'
    * 'up' noun -> SwitchOn
    * noun 'up' -> SwitchOn
    * 'down'/'out' noun -> SwitchOff
    * noun 'down'/'out' -> SwitchOff
    * 'over' noun -> Turn
    * noun 'over' -> Turn
    * noun 'in' noun -> Turn
    * noun=ADirection -> Go;
Verb 'wind' * noun -> Turn * 'up' noun -> Turn;
Extend 'blow' * 'out' noun -> SwitchOff * noun 'out' -> SwitchOff * 'on' noun -> Blow;
Extend 'knock' first * -> Knock * noun -> Knock;
Extend 'ring' first * -> RingBare;
[ RingBareSub;
    if (clapper in player) <<Ring clapper>>;
    if (handbell in player) <<Ring handbell>>;
    "You have nothing to ring.";
];
Extend only 'feed' first * creature -> Feed;
[ FeedSub; if (bread in player) <<Give bread noun>>; "You would have to say what with."; ];
Verb 'curse' 'swear' = 'curses';
Extend 'ring' * 'at' noun -> Ring;
Extend 'listen' * 'at'/'for' noun -> Listen;
Extend 'smell' * 'at' noun -> Smell;
Verb 'lick' 'suck' = 'taste';
Verb 'bite' 'chew' 'devour' 'consume' 'nibble' = 'eat';
Extend 'drink' * 'from'/'out' noun -> Drink;
Extend 'climb'
    * 'through'/'over'/'on'/'onto'/'along' noun -> Enter
    * 'back' -> VagueGo
    * 'out' 'of' noun -> Exit;
Extend 'cross' * 'over' noun -> Enter;
Extend 'fill' * 'up' noun -> Fill;
Verb 'mend' 'repair' 'build' * noun -> Mend;
Verb 'try' * topic -> Use;
Verb 'use' 'operate' 'employ' * noun -> Use * noun 'on'/'with' noun -> Use;
Verb 'xyzzy' 'plugh' 'abracadabra' * -> MagicNot;

! Out of the punt, or by the way out, if there is one.
Extend 'leave' first * -> Leave;
[ LeaveSub;
    if (parent(player) == punt || real_location.out_to) <<Exit>>;
    <<VagueGo>>;
];

Verb 'who' 'what' 'why' 'how' 'when' * -> AskNobody * topic -> AskNobody;
[ AskNobodySub; "There is nobody here to ask but yourself, and you were about to ask the letter."; ];
Extend 'where' first * 'am' 'i//' -> Look;

Extend 'climb' first
    * 'in'/'inside' -> GoIn
    * 'out'/'outside' -> Exit
    * 'up' -> Ascend
    * 'down' -> Descend;

Extend 'go' first
    * 'home' -> Home
    * 'back'/'on'/'away'/'around' -> VagueGo
    * 'upstairs' -> Ascend
    * 'downstairs' -> Descend;
Verb 'upstairs' * -> Ascend;
Verb 'downstairs' * -> Descend;
Verb 'brandish' = 'wave';
Verb 'wield' 'ready' * held -> Wield;
[ WieldSub; "It is in your hand."; ];
Verb 'tickle' 'lean' = 'touch';
Verb 'trade' 'bargain' 'negotiate' 'converse' 'chat' * 'with' noun -> Talk;
Extend 'unlock' * noun 'using' held -> Unlock;

! Out of nothing that holds it: off a hook, down from a wall.
Extend 'take' * noun 'from'/'off' noun -> TakeFrom;
Extend 'get' * noun 'from'/'off' noun -> TakeFrom;
[ TakeFromSub; <<Take noun>>; ];
