"""Word lists of the segmenter: abbreviations that never end a sentence, conjunctions, words that leave a line open.

Abbreviations stand without their full stop and are matched as they stand (`Dec.` but not `dec.`, `max.` but not the
name `Max.`), at the beginning of a segment also with a capital, and all in capitals if they have one. Only those that
are followed by something are listed there; `e.g.` and `U.S.` need no list (see `SentenceRules`).
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON: Final = _words("Dr Prof St vs cf al approx fig vol pp Mr Mrs Ms Jr Sr Nr ca resp")

ABBREVIATIONS: Final[dict[str, frozenset[str]]] = {
    "en": _words(
        """Messrs Mme Mlle Gen Col Sgt Capt Cpl Cmdr Comdr Lt Adm Maj Brig Rev Hon Gov Sen Rep Pres Supt Det Insp Mt
        Ft Inc Ltd Co Corp Bros No Nos Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Fig Figs vols Vol Vols Dept Est eds
        viz dept est incl excl ibid op Ave Blvd Rd Univ Assn Ph Sec Secs Eq Eqs Ch Ref Refs min max ft sq oz lb lbs tbsp
        tsp"""
    ),
    "de": _words(
        """Hr Hrn Frl Nrn Str str Abs Bd Bde bsp evtl ggf ggfs inkl exkl insb insbes max min Mio Mrd Tsd Kap Jh Jhd
        Jhdt geb gest verh vgl sog Dipl Ing Mag hl Std Tel zzgl abzgl bspw engl dt frz franz lat griech bzw bzgl allg
        ehem gem entspr dgl Anm Aufl Hrsg Verf Verl Zit zit usf Okt Dez Jan Feb Aug Sept Sep Nov Dres Doz Ges Ziff Hbf
        rd einschl ausschl wiss med phil jur nat rer habil"""
    ),
    "fr": _words(
        """MM Mme Mmes Mlle Mlles Me Pr Ste av apr env chap cf ex éd bd boul tél janv févr avr juill sept oct nov déc
        hab arr adj fasc ms suiv trad coll dir Cie Mgr rééd"""
    ),
    "es": _words(
        """Sr Sra Sras Srta Srtas Sres Dra Dres Ud Uds Vd Vds Lic Ing Arq Av Avda pág págs núm núms art arts cap caps
        figs tel aprox ej EE UU Gral Cnel Pág Sto Sta Mons Excmo Ilmo Hno Hna Rdo ed eds trad vols admón dpto"""
    ),
    "it": _words(
        """sig Sig Sigg dott Dott avv Avv ing Ing arch Arch on On Gen Sen geom rag pag pagg art artt cap figg tel es
        cfr gen ten col cap mons febbr ott nov dic sett segg seg ed trad voll sen min pres"""
    ),
    "pt": _words(
        """Sra Sras Srs Srta Dra Profa Eng Av pág págs núm art arts cap tel ex aprox Exmo Exma Ilmo Gen Cel Cap Sto
        Sta Ltda Cia ed trad séc obs"""
    ),
    "nl": _words(
        """hr Hr dhr Dhr mevr Mevr mw Mw drs Drs Ir Ing ing mr bijv bv blz nr jl zgn incl excl max min afb hfst mln mld
        ong evt jan feb aug sept okt nov dec tel vgl ds gebr geb mej prof st arr"""
    ),
    "da": _words("hr fr nr kl jf pga inkl ekskl feks fx bl maks min tlf mio mia kap stk sml"),
    "no": _words("hr nr kl jf pga inkl ekskl feks bl maks min tlf mill mrd kap ifm ift pst"),
    "sv": _words("nr kl jfr pga inkl exkl tex bl max min tel kap milj forts dvs fr sk ev"),
    "pl": _words(
        """np tzn tj Mgr Inż Gen prof dr ul nr godz ok inż mgr str św wg zob por al pl im gen płk kpt ks tzw ww red
        rys tab"""
    ),
    "cs": _words(
        """např tzv tj Ing Mgr Bc MUDr JUDr PhDr RNDr ul č čp str prof ing mgr sv popř resp tel mj bc judr mudr phdr
        gen atp kpt"""
    ),
    "sk": _words("napr tzv tj Ing Mgr MUDr JUDr PhDr ul č str prof ing mgr sv resp tel mudr judr phdr gen"),
    "sl": _words("npr tj ul št str prof dr sv oz mag ga dipl inž"),
    "hr": _words("npr tj ul br str prof dr sv tzv odn mr ing dipl god"),
    "ru": _words("г гг ул им стр тыс млн млрд рис см напр проф акад доц гр пр просп обл р св тел т им"),
    "uk": _words("р рр вул ім стор тис млн млрд рис див напр проф акад доц гр обл св тел м"),
    "bg": _words("г ул им стр хил млн млрд проф акад доц напр св тел гр бул"),
    "ro": _words("dl dna dvs str nr prof art ing av bd sf cap pag fig lt gen"),
    "hu": _words("pl ún kb ill sz ifj id özv dr prof tel old vö"),
    "fi": _words("esim tri prof nro ns ks vrt mm puh toim os v synt"),
    "tr": _words("Doç Av Yrd Alb doç av bkz sok cad örn yrd gör alb gen ord no tel sn"),
    "el": _words("κ κκ κα δρ καθ αρ σελ βλ λ χ π"),
    "ca": _words("sr sra srs srta dra av pàg pàgs núm art cap tel aprox ex"),
}

MAY_END: Final = _words("etc usw usf osv itd itp atd stb enz")
"""Abbreviations that stand as often at the end of a sentence as inside one; in any language, in lower case."""

STARTERS: Final[dict[str, frozenset[str]]] = {
    "en": _words(
        """the this that these those there it its he she they we i you his her their our my your in on at from for with
        and but so if when while as after before then what who how why where which because although however although not no
        all some most many each every another here now today let's it's that's there's he's she's i'm we're they're you're"""
    ),
    "de": _words(
        """der die das den dem des ein eine einen einem einer es er sie wir ich ihr du man in im am an auf aus bei bis
        mit nach seit von vor zu zum zur für durch über um und aber oder doch denn wenn weil dass als ob so da dort dann
        dies diese dieser dieses jetzt heute hier wer wie was warum wo nicht nur auch noch alle viele jeder jede"""
    ),
    "fr": _words(
        """le la les l' un une des ce cet cette ces il elle ils elles on nous vous je tu dans en sur pour avec mais et ou
        donc si quand comme après avant puis qui que quoi où pourquoi alors tout tous ici"""
    ),
    "es": _words(
        """el la los las un una unos unas este esta estos estas ese esa él ella ellos ellas nosotros yo tú en con por para
        pero y o si cuando como después antes entonces qué quién dónde todo todos aquí no"""
    ),
    "it": _words(
        """il lo la i gli le un uno una questo questa questi queste egli lui lei loro noi voi io tu in con per ma e o se
        quando come dopo prima poi che chi dove tutto tutti qui non"""
    ),
    "pt": _words(
        """o a os as um uma este esta estes estas esse essa ele ela eles elas nós eu em com por para mas e ou se quando
        como depois antes então que quem onde todo todos aqui não"""
    ),
    "nl": _words(
        """de het een dit dat deze die hij zij ze wij we ik jij u er in op met voor maar en of als wanneer na dan toen wie
        wat waar hoe waarom alle veel hier niet"""
    ),
}
"""Words that, with a capital, show that a sentence has begun, even after an abbreviation or an initial."""

WORDS_WHEN_FIRST: Final[dict[str, frozenset[str]]] = {"en": _words("No"), "tr": _words("no")}
"""Abbreviations that are full sentences when nothing stands before them: "No." """

ORDINAL_DOT: Final = _words("de da no fi et lv cs sk sl hr sr bs hu is pl tr lb fo eu")
"""Languages that write ordinals with a full stop: "am 3. Mai", "Ludwig XIV." """

CONJUNCTIONS: Final[dict[str, frozenset[str]]] = {
    "en": _words(
        """and but or because so while although though when if which who that whereas since unless until yet nor"""
    ),
    "de": _words("und aber oder denn weil dass wenn während obwohl sondern als damit ob sodass doch bevor nachdem"),
    "fr": _words("et mais ou car parce que qui quand si donc comme lorsque puisque quoique tandis puis dont où"),
    "es": _words("y e pero o u porque que cuando si aunque pues como mientras sino quien donde"),
    "it": _words("e ed ma o oppure perché che quando se mentre anche sebbene poiché quindi dove come"),
    "pt": _words("e mas ou porque que quando se embora pois como enquanto porém onde"),
    "nl": _words("en maar of want omdat dat als terwijl hoewel wanneer dus toen zodat die"),
    "da": _words("og men eller fordi at når hvis mens selvom da som så"),
    "no": _words("og men eller fordi at når hvis mens selv da som så for"),
    "sv": _words("och men eller för att när om medan eftersom då som så fast"),
    "pl": _words("i a ale lub albo bo ponieważ że gdy jeśli chociaż więc który która które kiedy"),
    "cs": _words("a ale nebo protože že když jestli ačkoli který která které zatímco aby"),
    "sk": _words("a ale alebo pretože že keď ak hoci ktorý ktorá ktoré kým aby"),
    "ru": _words("и а но или потому что когда если хотя который которая которые чтобы пока"),
    "uk": _words("і й та а але або бо тому що коли якщо хоча який яка які щоб поки"),
    "bg": _words("и а но или защото че когато ако докато който която които"),
    "ro": _words("și şi dar sau pentru că când dacă deși iar care deoarece"),
    "hu": _words("és de vagy mert hogy ha amikor bár aki ami mint"),
    "fi": _words("ja mutta tai koska että kun jos vaikka joka sekä vai"),
    "tr": _words("ve ama veya çünkü ki eğer fakat ancak ya"),
    "el": _words("και κι αλλά ή γιατί ότι όταν αν ενώ που επειδή"),
    "ca": _words("i però o perquè que quan si mentre doncs com on"),
    "ar": _words("و أو لكن لأن ثم عندما إذا الذي التي"),
    "fa": _words("و یا اما ولی که زیرا چون اگر وقتی"),
    "he": _words("או אבל כי אם כאשר אשר"),
    "hi": _words("और लेकिन या क्योंकि कि जब अगर जो"),
    "ur": _words("اور لیکن یا کیونکہ کہ جب اگر جو"),
    "vi": _words("và nhưng hoặc vì rằng khi nếu mà"),
    "id": _words("dan tetapi tapi atau karena bahwa ketika jika yang"),
    "ms": _words("dan tetapi atau kerana bahawa apabila jika yang"),
    "ko": _words("그리고 그러나 하지만 또는 왜냐하면 그래서"),
}

LEAVES_OPEN: Final[dict[str, frozenset[str]]] = {
    "en": _words("a an the of and or but my your our their its his very than from into every because which whose"),
    "de": _words(
        "der die das den dem des ein eine einen einem einer eines und oder aber von zum zur im dass sehr weil"
    ),
    "fr": _words("le la les un une des du de et ou mais au aux mon ma mes ton ta tes son sa ses que très"),
    "es": _words("el la los las un una unos unas de del y o pero al mi tu su sus que muy en con"),
    "it": _words("il lo la gli le un una di del della dei delle e o ma al alla mio sua che molto"),
    "pt": _words("o a os as um uma de do da dos das e ou mas ao à meu sua que muito em com"),
    "nl": _words("de het een van en of maar mijn zijn hun zeer dat omdat"),
}
"""Words an utterance hardly ends with: a line that does goes on in the next one."""
