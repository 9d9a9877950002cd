"""The English vocabulary of the word check: function words and irregular verbs. It has no words of any game."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
BE = _words("is are was were be been being am get gets got become becomes became seem seems")
# "You" can be omitted after these: "it costs you a coin". But "it makes you a frog" is not "it makes a frog".
GIVING = _words("costs gives grants earns offers sells")
# Words that begin a clause that is not a statement: a condition, a relative clause, or reported speech.
SUPPOSING = _words("if when whenever while who which that whether why says say said thinks believes asks ask")
# In texts with these, brackets make a difference.
CALCULATING = _words("plus minus times divided + - * / =")
PRONOUNS = _words("i you he she it we they who which that someone something anyone anything everyone everything")
DETERMINERS = ARTICLES | _words(
    "this that these those my your his her its our their another each every some any no all"
)
PREPOSITIONS = _words("""
    about above across after against along among around at before behind below beneath beside between beyond by
    during for from in inside into near of off on onto out outside over past since through throughout to toward
    towards under until up upon with within without down
""")
CONDITIONS = _words("""
    if unless until till when whenever while before after once during except provided because though although as
""")
CONJUNCTIONS = _words("and or but nor so then than yet")
FUNCTION_WORDS = DETERMINERS | BE | PREPOSITIONS | CONDITIONS | CONJUNCTIONS | PRONOUNS

NEGATIONS = _words("not no never none nothing nobody nowhere neither nor without cannot hardly barely scarcely")
EXCEPTIONS = _words("only unless except excluding just solely merely")
MODALS = _words("can could may might must shall should will would ought need")
HEDGES = _words("""
    may might could would maybe perhaps possibly probably apparently supposedly allegedly seemingly seem seems
    seemed sometimes usually often occasionally rarely nearly almost claim claims claimed
""")
QUANTIFIERS = _words("""
    all every each any some none no most many much more less fewer few several both half least enough always
    never sometimes often usually rarely nothing everything something once twice only unlimited almost nearly
    lot
""")
# With one of these, two opposed statements can both be true: "some doors open", "some doors do not open".
PARTIAL = HEDGES | EXCEPTIONS | _words("some few many much most several half one 1 either or lot could any but")
# Words that retract what was said, or part of it.
RETRACTIONS = _words("""
    longer anymore false wrong untrue lie lied mistaken formerly previously rather otherwise apart unlike hoax rumour
    rumor trick opposite contrary incorrect invalid myth nonsense according theory now since alternatively too
    changed ended stopped
""")
UNDOING = EXCEPTIONS | HEDGES | RETRACTIONS
ORDER = _words("before after until till since then first last next previously afterwards earlier later")
DIRECTIONS = _words("""
    north south east west northeast northwest southeast southwest northern southern eastern western up down left
    right in out into inside outside above below over under upstairs downstairs upstream downstream upward
    downward upwards downwards forward backward forwards backwards clockwise anticlockwise counterclockwise
    behind near far port starboard ascend ascends ascending descend descends descending
""")

_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {word: str(value) for value, word in enumerate(_NUMBERS.split())}
NUMBERS |= {word: str(10 * value) for value, word in enumerate(_TENS.split(), start=3)}
NUMBER_WORDS = _words("""
    hundred thousand million dozen dozens half third quarter double triple first second fourth fifth twice
    thrice
""")
# Words before which an article makes a difference: "few know" and "a few know", "most" and "the most".
KEEPS_ARTICLE = QUANTIFIERS | NUMBER_WORDS | frozenset(NUMBERS) | _words("little other same last while")

# Words that don't change the meaning when inserted into a sentence without a negation.
HARMLESS = _words("""
    very really also simply completely fully totally entirely immediately quickly instantly slowly carefully
    suddenly clearly actually firmly tightly securely safely
""")
# Words that can continue a complete sentence. A phrase makes a sentence about all or none narrower.
LEADING = PREPOSITIONS | CONDITIONS
CLAUSE_STARTS = _words("so because which where who but although though")
PHRASE_STARTS = _words("with through as for by to into")
NARROWING_STARTS = CONDITIONS - CLAUSE_STARTS - PHRASE_STARTS
# A sentence with one of these says less when it is made narrower: "never do it" and "never do it with wet hands".
NARROWED = NEGATIONS | CONDITIONS | _words("all every any each always most too everything everyone anything")
SUBJECTS_AND_AUXILIARIES = PRONOUNS | _words("is are was were has have can will does")
# Words that don't agree with a verb like "turns", which then belongs to the main clause.
PLURAL = _words("are were you they we")

CONTRACTIONS = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "it's": "it is",
    "that's": "that is",
    "there's": "there is",
    "you're": "you are",
    "they're": "they are",
    "you'll": "you will",
    "it'll": "it will",
}

_OPPOSITES = """
    north/south east/west northeast/southwest northwest/southeast northern/southern eastern/western up/down left/right
    above/below inside/outside upstairs/downstairs upstream/downstream forward/backward forwards/backwards
    clockwise/anticlockwise clockwise/counterclockwise before/after on/off always/never all/none all/no every/no
    more/fewer more/less most/least many/few with/without open/closed open/shut opens/closes opens/shuts
    opened/closed open/close opening/closing lock/unlock locks/unlocks locked/unlocked full/empty true/false
    alive/dead safe/dangerous possible/impossible first/last near/far early/late high/low hot/cold
"""
# Opposites that contradict each other anywhere. Others can tell two things apart if they come before a noun.
OPPOSED_ANYWHERE = QUANTIFIERS | _words("before after with without")
OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _OPPOSITES.split())

_IRREGULAR = """
    make made made/give gave given/take took taken/go went gone/keep kept kept/hold held held/lead led led/
    fall fell fallen/break broke broken/tell told told/eat ate eaten/throw threw thrown/say said said/
    bring brought brought/send sent sent/catch caught caught/come came come/do did done/drink drank drunk/
    drive drove driven/fly flew flown/
    sing sang sung/fight fought fought/forget forgot forgotten/hide hid hidden/know knew known/lose lost lost/
    sink sank sunk/sleep slept slept/speak spoke spoken/stand stood stood/steal stole stolen/swim swam swum/
    teach taught taught/wake woke woken/wear wore worn/write wrote written/begin began begun/blow blew blown/
    build built built/draw drew drawn
"""
IRREGULAR = {form: verb.split()[0] for verb in _IRREGULAR.split("/") for form in verb.split()[1:]}
