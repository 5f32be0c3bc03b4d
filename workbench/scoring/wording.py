"""The words in which answers name a result or rule it out, in the languages that are read here, and texts in others.

Chinese, Japanese, Korean and Thai put letters and numbers right beside words: `spaced` parts them.
"""

import re

_UNSPACED = r"\u0e00-\u0e7f\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_BESIDE = re.compile(rf"(?<=[{_UNSPACED}])(?=[-+−]?[$€£¥₹]?[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{_UNSPACED}])")

ANSWER = (
    "Antwort|Lösung|réponse|respuesta|risposta|resposta|antwoord|ответ"
    "|答案|答え|答|正解|解答|应选|故选|選択|选择|정답|답|คำตอบ"
)
"""Nouns and verbs that introduce a result."""
OPTION = (
    "Möglichkeit|Auswahl|choix|opción|alternativa|opzione|scelta|opção|optie|keuze|вариант|"
    "选项|選項|選択肢|선택지|보기|ตัวเลือก|ข้อ"
)
"""Nouns for one of several options, which may also be one that is ruled out."""
IS = "ist|lautet|wäre|est|serait|es|sería|è|é|seria|is|luidt|это|является|будет|应该是|应为|是|为|為|應為|は|が|은|는|이|가|คือ"
_BETWEEN = (
    "die|der|das|la|le|el|il|l['’]|o|a|de|het|richtige|korrekte|correcte|correcta|correct[ao]|bonne|corretta|giusta|juiste|buchstabe|"
    "lettre|letra|lettera|правильный|верный|буква"
)
LEADS = rf"(?i:(?:\s|[:：=]|\b(?:{IS}|{_BETWEEN}|{OPTION})\b|[是为為はが은는]|คือ|ข้อ|选项|選項){{0,9}})"
"""What may stand between such a noun and the result."""
MINUS = "minus|negative|moins|menos|meno|минус|负|負|マイナス|마이너스|ลบ"

NOT_BEFORE = (
    r"(?i)(?:\b(?:nicht|kein|keine|weder|noch|statt|anstatt|pas|plutôt\s{1,9}que|nunca|né|não|nem|niet|geen|не|ни|кроме)"
    r"(?:\s{1,9}(?:die|der|das|la|le|el|il|a|o|de|option|è|é|es))?\s{1,9}"
    r"|\b(?:no|ni|non)\s{1,9}(?:la|le|el|il|es|è)\s{1,9}(?:la\s{1,9}|el\s{1,9})?"
    r"|(?:不是|并非|並非|而不是|而非|不选|不選|除了|排除|ไม่ใช่|มิใช่)(?:\s{0,9}(?:选项|選項|ข้อ))?\s{0,9})[*_\"'`$(\[]{0,9}\Z"
)
"""What stands before a letter that is ruled out."""
_NO_GERMANIC = (
    r"(?:ist|wäre|is)\s{1,9}(?:falsch|inkorrekt|unrichtig|nicht|kein|ausgeschlossen|fout|onjuist|verkeerd|niet)\b"
)
_NO_GERMANIC += r"|(?:stimmt|passt|klopt)\s{1,9}(?:nicht|niet)\b|scheidet\s{1,9}aus\b"
_NO_ROMANCE = r"(?:est|es|está|è|é)\s{1,9}(?:incorrect\w{0,2}|incorret\w|faux|fauss\w|fals\w|erron\w{1,3}|erróne\w"
_NO_ROMANCE += r"|errat\w|errad\w|sbagliat\w|scorrett\w)"
_NO_ROMANCE += r"|n['’]est\s{1,9}pas\b|no\s{1,9}es\b|non\s{1,9}è|não\s{1,9}(?:é|está)"
_NO_RUSSIAN = r"(?:—\s{0,9}|это\s{1,9}|является\s{1,9})?(?:неверн\w{1,3}|неверен|неправил\w{1,9}"
_NO_RUSSIAN += r"|ошибоч\w{1,6}|не\s{1,9}(?:верен|подходит|является))"
_NO_EAST_ASIAN = (
    r"(?:是|为|為)?(?:错|錯|不正确|不正確|不对|不對|不符合|不成立|有误|有誤|不是)|(?:は|が)?(?:誤り|間違|不正解|違|正しくな|では(?:な|あり)|じゃ(?:な|あり)|でな|適切でな)"
    r"|(?:은|는|이|가)?\s{0,9}(?:틀|오답|잘못|정답이\s?아|답이\s?아|아니|아닌|옳지|맞지)|(?:นั้น)?\s?(?:ผิด|ไม่ถูก|ไม่ใช่)"
)
NOT_AFTER = rf"(?i:\s{{0,9}}(?:{_NO_GERMANIC}|{_NO_ROMANCE}|{_NO_RUSSIAN}|{_NO_EAST_ASIAN}))"
"""What stands after one."""
NOT_AFTER_ANSWER = r"\s{0,9}(?:は|が)?(?:では(?:な|あり)|じゃ(?:な|あり)|でな)|\s{0,9}(?:이|가)?\s{0,9}(?:아니|아닌)"
"""The same where languages deny at the end what they named as the answer."""
NEGATED = r"(?i)\b(?:not|neither|nor|none|never|cannot)\b|n['’]t\b"
"""What denies, in English."""
NEGATED_ELSEWHERE = (
    r"(?i)\b(?:nicht|kein\w{0,2}|weder|pas|ni|no|nunca|non|né|não|nem|niet|geen|не|ни|нет)\b"
    r"|[不没沒非无無未]|ない|ありません|아니|않|ไม่"
)

_REJECTS = (
    r"(?i)\b(?:wrong|incorrect|false|untrue|doubt|except|(?:anything|everything|all)\s{1,9}but"
    r"|instead\s{1,9}of|rather\s{1,9}than)\b"
)
_ASKS_WHAT_IS_FALSE = (
    r"(?i)\b(?:not|false|incorrect\w{0,2}|wrong|untrue|except|excluding|least|cannot|odd|exception|lacks?|inappropriate|unlikely"
    r"|falsch\w{0,2}|nicht|kein\w{0,2}|pas|faux|fausse|sauf|excepto|falso|falsa|sbagliat\w|eccetto|não|неверн\w{1,3}|не|кроме|onjuist|niet)"
    r"\b|n['’]t\b|[不错錯误誤非]|ない|誤|틀린|아닌|옳지|ไม่|ผิด"
)

_READ = re.compile(
    r"(?i)\b(?:the|is|are|was|it|of|and|because|so|not|answer|option|choice|der|die|das|ist|und|nicht|antwort|le|la|les|est|et|pas|une|"
    r"el|los|y|que|il|di|che|non|é|não|het|een|en|niet|и|не|это|ответ|вариант)\b|[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
_ENGLISH = re.compile(r"(?i)\b(?:the|is|are|was|it|of|and|there|would)\b")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTER = re.compile(r"(?<!\w)[A-Z](?!\w)")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u052f\u1e00-\u1fff]")
_LOOKED_AT_CHARS, _LEAST_WORDS, _MANY_WORDS = 20_000, 2, 8


def spaced(text: str) -> str:
    """Return a text with blanks between letters or digits and the signs of scripts that have none."""
    return text if text.isascii() else _BESIDE.sub(" ", text)


def is_read(text: str) -> bool:
    """Return whether a text that settles on no letter is one that was understood: not one of several letters, many words or
    another script, in a language of which no word is known here.
    """
    begin = text[:_LOOKED_AT_CHARS]
    words = _WORD.findall(begin)
    if _READ.search(begin) or len(words) < _LEAST_WORDS:
        return True
    others = len(_OTHER_SCRIPT.findall(begin))
    return (
        len(set(_LETTER.findall(begin))) < _LEAST_WORDS
        and len(words) < _MANY_WORDS
        and 2 * others < sum(map(len, words))
    )


def denies(sentence: str) -> bool:
    """Return whether a sentence denies something."""
    is_english = bool(_ENGLISH.search(sentence))
    return bool(re.search(NEGATED, sentence) or (not is_english and re.search(NEGATED_ELSEWHERE, sentence)))


def spelled_out(sentence: str) -> str:
    """Return an English sentence with `not` in place of `n't`, which is lost with its apostrophe."""
    return re.sub(r"(?i)n['’]t\b", " not", sentence)


def rejects(sentence: str) -> bool:
    """Return whether an English sentence says of what it names that it is wrong."""
    return bool(re.search(_REJECTS, sentence))


def asks_what_is_false(question: str) -> bool:
    """Return whether a question may ask which option does not hold: it has a word that denies."""
    return bool(re.search(_ASKS_WHAT_IS_FALSE, question))
