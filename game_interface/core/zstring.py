"""Z-characters to text: Z-Machine Standard 1.1, section 3."""

_A0 = "abcdefghijklmnopqrstuvwxyz"
_A1 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_A2 = " \n0123456789.,!?_#'\"/\\-:()"
_SHIFTS = {4: 1, 5: 2}
_DEFAULT_EXTRAS = (
    "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"  # section 3.8.5.3, ZSCII 155 on
)
_FIRST_EXTRA = 155
_MAX_WORDS = 2048  # a damaged string never ends; no real one is near this long


def _word(data: bytes, address: int) -> int:
    return int.from_bytes(data[address : address + 2], "big")


def z_characters(data: bytes, address: int, *, words: int = _MAX_WORDS) -> list[int]:
    """The five-bit codes of the string at a byte address, to its end mark or to the end of the file."""
    codes: list[int] = []
    for at in range(address, min(address + 2 * words, len(data) - 1), 2):
        word = _word(data, at)
        codes += (word >> 10 & 31, word >> 5 & 31, word & 31)
        if word & 0x8000:
            break
    return codes


class ZText:
    """Decodes the strings of one story: its alphabets, its extra characters and its abbreviations."""

    def __init__(self, story: bytes) -> None:
        self._story = story
        self._abbreviations = _word(story, 0x18)
        self._extras = self._read_extras()
        self._alphabets = self._read_alphabets(_word(story, 0x34) if story[0] >= 5 else 0)
        self._expanded: dict[int, str] = {}

    def _read_alphabets(self, table: int) -> tuple[str, str, str]:
        if not table or table + 78 > len(self._story):
            return _A0, _A1, _A2
        letters = [self.zscii(code) or " " for code in self._story[table : table + 78]]
        # The first two of the third alphabet are fixed: an escape and a new line.
        return "".join(letters[:26]), "".join(letters[26:52]), " \n" + "".join(letters[54:])

    def _read_extras(self) -> str:
        extension = _word(self._story, 0x36) if self._story[0] >= 5 else 0
        if not extension or _word(self._story, extension) < 3:
            return _DEFAULT_EXTRAS
        table = _word(self._story, extension + 6)
        if not table or table >= len(self._story):
            return _DEFAULT_EXTRAS
        return "".join(chr(_word(self._story, table + 1 + 2 * index)) for index in range(self._story[table]))

    def zscii(self, code: int) -> str:
        if 32 <= code <= 126:
            return chr(code)
        if code == 13:
            return "\n"
        extra = code - _FIRST_EXTRA
        return self._extras[extra] if 0 <= extra < len(self._extras) else ""

    def decode(self, data: bytes, address: int, *, words: int = _MAX_WORDS) -> str:
        """The string at a byte address of `data`, the story with its memory as it is now."""
        return self._text(z_characters(data, address, words=words), expand=True)

    def _text(self, codes: list[int], *, expand: bool) -> str:
        out: list[str] = []
        alphabet, at = 0, 0
        while at < len(codes):
            code, shift, alphabet = codes[at], alphabet, 0
            at += 1
            if code == 0:
                out.append(" ")
            elif code <= 3:
                if expand and at < len(codes):
                    out.append(self._abbreviation(32 * (code - 1) + codes[at]))
                at += 1
            elif code in _SHIFTS:
                alphabet = _SHIFTS[code]
            elif code == 6 and shift == 2:
                if at + 1 < len(codes):
                    out.append(self.zscii(codes[at] << 5 | codes[at + 1]))
                at += 2
            else:
                out.append(self._alphabets[shift][code - 6])
        return "".join(out)

    def _abbreviation(self, index: int) -> str:
        if index not in self._expanded:
            address = 2 * _word(self._story, self._abbreviations + 2 * index)
            # An abbreviation never holds another: section 3.3.1.
            self._expanded[index] = self._text(z_characters(self._story, address), expand=False)
        return self._expanded[index]
