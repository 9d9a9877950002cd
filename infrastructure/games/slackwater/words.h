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

[ MagicSub;
    if (real_location ~= Salt_Gallery || blind_wall has open) "You say it aloud. Nothing here has an ear for it.";
    give blind_wall open;
    Achieved(T_WORD);
    "You say it. The ear goes pink. Then the whole wall, with the tact of a good butler, withdraws to the right, and leaves a doorway east.";
];

[ SayTopicSub;
    if (real_location == Salt_Gallery && blind_wall hasnt open) "The ear listens politely, and goes on waiting for another word.";
    if (troll in real_location && lightflag) "~Have you brought me anything?~ says the troll.";
    "You say so. Nobody disputes it.";
];

Verb 'ebbandry' * -> Magic;

Extend 'say' first
    * 'ebbandry' -> Magic
    * 'ebbandry' 'to' noun -> Magic
    * topic -> SayTopic;

Extend 'read' replace
    * noun -> Read
    * 'about' topic 'in' noun -> Consult
    * topic 'in' noun -> Consult;

Extend 'eat' replace
    * noun -> Eat;

Extend 'throw' first
    * noun -> ThrowAt
    * noun 'at'/'on'/'over' noun -> ThrowAt;

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

