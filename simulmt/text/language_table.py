"""The languages known by name: one line each.

Columns, separated by `|`: codes (ISO 639-1 if there is one, then ISO 639-3, then the other ISO 639-2 and 639-3 codes in
use for it), English name, native name, further names. The first code is the one used throughout.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
af afr|Afrikaans|Afrikaans
am amh|Amharic|አማርኛ
ar ara arb|Arabic|العربية|Modern Standard Arabic
as asm|Assamese|অসমীয়া
ast|Asturian|asturianu|Bable
az aze azj azb|Azerbaijani|azərbaycanca|Azeri
ba bak|Bashkir|башҡортса
be bel|Belarusian|беларуская|Byelorussian
bg bul|Bulgarian|български
bm bam|Bambara|bamanankan
bn ben|Bengali|বাংলা|Bangla
bo bod tib|Tibetan|བོད་སྐད་
br bre|Breton|brezhoneg
bs bos|Bosnian|bosanski
ca cat|Catalan|català|Valencian
ceb|Cebuano|Binisaya
ckb|Central Kurdish|کوردیی ناوەندی|Sorani
cs ces cze|Czech|čeština
cv chv|Chuvash|чӑвашла
cy cym wel|Welsh|Cymraeg
da dan|Danish|dansk
de deu ger|German|Deutsch
el ell gre|Greek|Ελληνικά|Modern Greek
en eng|English|English
eo epo|Esperanto|Esperanto
es spa|Spanish|español|Castilian|castellano
et est ekk|Estonian|eesti
eu eus baq|Basque|euskara
fa fas per pes prs|Persian|فارسی|Farsi|Dari
ff ful|Fulah|Fulfulde|Fula|Pulaar
fi fin|Finnish|suomi
fil|Filipino|Filipino|Pilipino
fo fao|Faroese|føroyskt
fr fra fre|French|français
fy fry|Western Frisian|Frysk|Frisian
ga gle|Irish|Gaeilge
gd gla|Scottish Gaelic|Gàidhlig|Gaelic
gl glg|Galician|galego
gn grn|Guarani|avañe'ẽ
gu guj|Gujarati|ગુજરાતી
ha hau|Hausa|Hausa
he heb iw|Hebrew|עברית
hi hin|Hindi|हिन्दी|हिंदी
hr hrv|Croatian|hrvatski
ht hat|Haitian Creole|kreyòl ayisyen|Haitian
hu hun|Hungarian|magyar
hy hye arm|Armenian|հայերեն
id ind in|Indonesian|Bahasa Indonesia
ig ibo|Igbo|Igbo
ilo|Ilocano|Ilokano|Iloko
is isl ice|Icelandic|íslenska
it ita|Italian|italiano
ja jpn|Japanese|日本語
jv jav|Javanese|Basa Jawa
ka kat geo|Georgian|ქართული
kk kaz|Kazakh|қазақша
km khm|Khmer|ខ្មែរ|Cambodian|Central Khmer
kn kan|Kannada|ಕನ್ನಡ
ko kor|Korean|한국어
ku kur kmr|Kurdish|kurdî|Northern Kurdish|Kurmanji
ky kir|Kyrgyz|кыргызча|Kirghiz
la lat|Latin|Latina
lb ltz|Luxembourgish|Lëtzebuergesch
lg lug|Ganda|Luganda
ln lin|Lingala|lingála
lo lao|Lao|ລາວ|Laotian
lt lit|Lithuanian|lietuvių
lv lav lvs|Latvian|latviešu
mg mlg plt|Malagasy|Malagasy
mi mri mao|Maori|te reo Māori|Māori
mk mkd mac|Macedonian|македонски
ml mal|Malayalam|മലയാളം
mn mon khk|Mongolian|монгол
mr mar|Marathi|मराठी
ms msa may zsm|Malay|Bahasa Melayu
mt mlt|Maltese|Malti
my mya bur|Burmese|မြန်မာ|Myanmar
ne nep npi|Nepali|नेपाली
nl nld dut|Dutch|Nederlands|Flemish|Vlaams
nn nno|Norwegian Nynorsk|nynorsk|Nynorsk
no nor nb nob|Norwegian|norsk|Norwegian Bokmål|Bokmål|bokmål
ny nya|Chichewa|Chicheŵa|Nyanja|Chewa
oc oci|Occitan|occitan
om orm gaz|Oromo|Afaan Oromoo
or ori ory|Odia|ଓଡ଼ିଆ|Oriya
pa pan|Punjabi|ਪੰਜਾਬੀ|Panjabi
pl pol|Polish|polski
ps pus pbt|Pashto|پښتو|Pushto
pt por|Portuguese|português
qu que quy quz|Quechua|Runa Simi
rm roh|Romansh|rumantsch
ro ron rum mo|Romanian|română|Moldavian|Moldovan
ru rus|Russian|русский
rw kin|Kinyarwanda|Ikinyarwanda
sa san|Sanskrit|संस्कृतम्
sc srd|Sardinian|sardu
sd snd|Sindhi|سنڌي
si sin|Sinhala|සිංහල|Sinhalese
sk slk slo|Slovak|slovenčina
sl slv|Slovenian|slovenščina|Slovene
sn sna|Shona|chiShona
so som|Somali|Soomaali
sq sqi alb als|Albanian|shqip
sr srp|Serbian|српски|srpski
ss ssw|Swati|siSwati|Swazi
st sot|Southern Sotho|Sesotho|Sotho
su sun|Sundanese|Basa Sunda
sv swe|Swedish|svenska
sw swa swh|Swahili|Kiswahili
ta tam|Tamil|தமிழ்
te tel|Telugu|తెలుగు
tg tgk|Tajik|тоҷикӣ
th tha|Thai|ไทย|ภาษาไทย
ti tir|Tigrinya|ትግርኛ
tk tuk|Turkmen|türkmençe
tl tgl|Tagalog|Tagalog
tn tsn|Tswana|Setswana
tr tur|Turkish|Türkçe
ts tso|Tsonga|Xitsonga
tt tat|Tatar|татарча
ug uig|Uyghur|ئۇيغۇرچە|Uighur
uk ukr|Ukrainian|українська
ur urd|Urdu|اردو
uz uzb uzn|Uzbek|oʻzbekcha|o'zbek
vi vie|Vietnamese|Tiếng Việt
wo wol|Wolof|Wolof
xh xho|Xhosa|isiXhosa
yi yid ydd|Yiddish|ייִדיש
yo yor|Yoruba|Yorùbá
yue|Cantonese|粵語|Yue Chinese|广东话|廣東話
zh zho chi cmn|Chinese|中文|Mandarin|Mandarin Chinese|汉语|漢語|普通话
zu zul|Zulu|isiZulu
"""

UNSPACED: Final = frozenset({"bo", "ja", "km", "lo", "my", "th", "yue", "zh"})
"""Languages written without spaces between words: their unit is the character."""
