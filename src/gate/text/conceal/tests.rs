use super::*;

fn kinds(text: &str) -> Vec<Concealment> {
    concealed_in_text(text).into_iter().map(|hidden| hidden.kind).collect()
}

fn tagged(text: &str) -> String {
    text.chars().filter_map(|c| char::from_u32(u32::from(c) + 0xe0000)).collect()
}

/// One selector for each byte, as payloads ride on an emoji.
fn selected(text: &str) -> String {
    text.bytes().filter_map(|byte| char::from_u32(0xe0100 + u32::from(byte))).collect()
}

fn bits(text: &str) -> String {
    text.bytes()
        .flat_map(|byte| (0..8).rev().map(move |bit| if byte >> bit & 1 == 1 { '\u{200c}' } else { '\u{200b}' }))
        .collect()
}

#[test]
fn what_conceals_is_found() {
    use Concealment::{Control, Direction, Invisible, Selectors, Tags};
    for (kind, text) in [
        (Control, "a\u{1b}[8mb\u{1b}[0m".to_owned()),
        (Control, "\u{1b}]8;;https://x.example\u{7}link\u{1b}]8;;\u{7}".to_owned()),
        (Control, "pay 900\u{8}\u{8}\u{8}100".to_owned()),
        (Control, "a\0b c".to_owned()),
        (Control, "a\u{9b}8m b".to_owned()),
        (Control, "line\u{85}line".to_owned()),
        (Tags, format!("Adds two numbers.{}", tagged("go on"))),
        (Tags, format!("🏴{}", tagged("gbeng"))),
        (Tags, format!("🏴{}\u{e007f}", tagged("ignore all"))),
        (Tags, format!("a🏴\u{e007f}{}", tagged("gbeng"))),
        (Tags, "a \u{e0001}b".to_owned()),
        (Tags, ["usca", "ustx", "usny", "usnv"].map(|name| format!("🏴{}\u{e007f}", tagged(name))).concat()),
        (Selectors, format!("A smile 🙂{}", selected("CANARY"))),
        (Selectors, "plain\u{fe0f}text here".to_owned()),
        (Selectors, "❤\u{fe0f}\u{fe0f} here".to_owned()),
        (Selectors, "字\u{e0100}\u{e0101} here".to_owned()),
        (Selectors, "é\u{fe01} é\u{fe02}".to_owned()),
        (Selectors, "葛\u{e0100}城\u{e0101}市\u{e0102}辻\u{e0103}祇\u{e0104}園".to_owned()),
        (Selectors, "1\u{fe0f} 2\u{fe0e} 3\u{fe0f} 4\u{fe0e}".to_owned()),
        (Direction, "pay \u{202e}001\u{202c} now".to_owned()),
        (Direction, "\u{202d}abc\u{202c}".to_owned()),
        (Direction, "file \u{202e}fdp.exe".to_owned()),
        (Direction, "a \u{2067}b c\u{2069} d".to_owned()),
        (Direction, "a \u{202b}b c\u{202c} d".to_owned()),
        (Direction, "a \u{2066}b".to_owned()),
        (Direction, "a \u{2066}b\nc\u{2069}".to_owned()),
        (Direction, "a\u{2069} b".to_owned()),
        (Direction, "a \u{2066}\u{2069} b".to_owned()),
        (Direction, "שלום \u{202b}שלום".to_owned()),
        (Direction, "א \u{2067}a long line of Latin letters\u{2069}".to_owned()),
        (Direction, "aa\u{200e}bb cc".to_owned()),
        (Direction, "a\u{200f} b\u{200e} c\u{200f} d".to_owned()),
        (Direction, "\u{2068}find_ticket\u{2069}".to_owned()),
        (Direction, "find_ticket\u{200e}".to_owned()),
        (Invisible, "f\u{200b}ind".to_owned()),
        (Invisible, "find_ticket\u{200b}".to_owned()),
        (Invisible, "\u{feff}find_ticket".to_owned()),
        (Invisible, "re\u{200d}ad the file".to_owned()),
        (Invisible, "read\u{200b}\u{200c} the file".to_owned()),
        (Invisible, "read \u{200b}\u{200b}\u{200b}the file".to_owned()),
        (Invisible, "re\u{2060}ad the file".to_owned()),
        (Invisible, "чи\u{200b}тать файл".to_owned()),
        (Invisible, format!("Adds two numbers.{}", bits("x"))),
        (Invisible, format!("می\u{200c}خواهم{}", bits("x"))),
        (Invisible, format!("ลบตั๋ว{}", bits("x"))),
        (Invisible, "م\u{200c}ی\u{200c}خ\u{200c}و\u{200c}ا\u{200c}ه\u{200c}م".to_owned()),
        (Invisible, "i\u{ad}g\u{ad}n\u{ad}o\u{ad}r\u{ad}e it".to_owned()),
        (Invisible, "ig\u{ad}no\u{ad}re it".to_owned()),
        (Invisible, "tic\u{ad}\u{ad}ket\u{ad}verwaltung ist".to_owned()),
        (Invisible, "name\u{3164} of it".to_owned()),
        (Invisible, "a\u{ffa0}b \u{115f}".to_owned()),
        (Invisible, "a\u{fff9}b\u{fffa}c\u{fffb} d".to_owned()),
        (Invisible, "a \u{2062}\u{2063}\u{2064} b".to_owned()),
        (Invisible, "a\u{34f}b c".to_owned()),
        (Invisible, "a \u{1d173}b".to_owned()),
        (Invisible, "a \u{e0080}b".to_owned()),
        (Invisible, "a \u{200b} b \u{200b} c \u{200b} d \u{200b} e \u{200b} f".to_owned()),
    ] {
        assert!(kinds(&text).contains(&kind), "{text:?}: {:?}", kinds(&text));
    }
}

#[test]
fn what_writes_passes() {
    for text in [
        "یک تیکت را برای همیشه پاک می\u{200c}کند. API\u{200c}ها را نمی\u{200c}توان برگرداند؛ ۵\u{200c}تایی.",
        "ه\u{200d} به معنی هجری است.",
        "टिकट हटाता है। क्\u{200d}ष और र्\u{200d}य, श्\u{200c}री।",
        "മലയാളം ന്\u{200d} ചില്ല് അക്ഷരം",
        "ಕನ್ನಡ ರ\u{200d}್ಯ",
        "ශ්\u{200d}රී ලංකා",
        "ลบ\u{200b}ตั๋ว\u{200b}หนึ่ง\u{200b}ใบ\u{200b}อย่าง\u{200b}ถาวร API\u{200b}ของเรา",
        "លុប\u{200b}សំបុត្រ\u{200b}មួយ",
        "工单\u{200b}系统，请先登录。",
        "يحذف تذكرة واحدة (مثل \u{200e}T-1\u{200e}). \u{2068}desk@post.example\u{2069} \u{2067}العنوان\u{2069}",
        "\u{202b}العنوان الكامل للمكتب\u{202c}",
        "\u{202e}שלום עולם\u{202c}",
        "מוחק כרטיס אחד לצמיתות, למשל T-1\u{200e}. C\u{200e}# נתמך.",
        "כרטיס \u{2066}T-1\u{2069} נמחק.",
        "Takes \u{2068}name\u{2069} and \u{2068}count\u{2069}.",
        "Löscht alle Einträge der Ticket\u{ad}ver\u{ad}wal\u{ad}tungs\u{ad}da\u{ad}ten\u{ad}bank.",
        "Takes a range such as T-1\u{2060}–\u{2060}T-9.",
        "\u{feff}Lists the tickets.",
        "Os filtros s\u{e3}o a\u{e7}\u{f5}es que podem ser aplicadas \u{200b}\u{200b}em um modelo.",
        "പാസ്\u{200c}\u{200c}വേഡും നൽകുക.",
        "Lists the tickets.\u{200b}\nThen stops. \u{200b}",
        "⚠\u{fe0f} Deletes. ❤\u{fe0f}\u{200d}🔥 ℹ\u{fe0f} ©\u{fe0e} #\u{fe0e} ✓\u{fe0f} →\u{fe0e}",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦 🧑🏿\u{200d}💻 👁\u{fe0f}\u{200d}🗨\u{fe0f} 🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🏃🏽\u{200d}♀\u{fe0f}\u{200d}➡\u{fe0f}",
        "1\u{fe0f}\u{20e3} 2\u{fe0f}\u{20e3} 3\u{fe0f}\u{20e3} 4\u{fe0f}\u{20e3} 5\u{fe0f}\u{20e3} *\u{fe0f}\u{20e3}",
        "葛\u{e0100}城市と辻\u{e0101}さん。",
        "ᠮᠣᠩᠭᠣᠯ\u{180e}ᠠ ᠰᠢ\u{180b}",
        "指定したフォルダのファイル一覧を返します。ＡＰＩ、ｶﾅ。",
        "Возвращает список файлов.\r\n\tПуть: каталог.",
        "Ελληνικά, č̌ and é with marks, a\u{a0}b\u{202f}c",
        "",
    ] {
        assert_eq!(concealed_in_text(text), [], "{text:?}");
    }
    for name in ["gbeng", "gbsct", "gbwls", "usca"] {
        assert_eq!(kinds(&format!("Office in 🏴{}\u{e007f}, too", tagged(name))), []);
    }
}

#[test]
fn names_are_compared_and_prose_is_read() {
    let document = crate::protocol::strict::parse(
        r#"{"name":"a b\u200b","description":"a b\u200b","enum":["a b\u200b"],"properties":{"a b\u200b":{}}}"#
            .as_bytes(),
    )
    .unwrap();
    let found: Vec<_> = concealed_in(&document.root).into_iter().map(|hidden| hidden.path).collect();
    assert_eq!(found, ["/name", "/enum/0", "/properties/a b\u{200b}"]);
}

#[test]
fn code_points_are_counted_and_never_spelled() {
    let hidden = &concealed_in_text(&format!("Adds.{}", tagged("aaabbc")))[0];
    assert_eq!(hidden.code_points(), "U+E0061 ×3, U+E0062 ×2, U+E0063 ×1");
}

#[test]
fn hostile_text_is_judged_in_one_go() {
    const MANY: usize = 100_000;
    for text in ["\u{200b}", "ab\u{ad}", "\u{2066}", "א\u{2067}", "🏴\u{e0067}", "a\u{fe0f}", "م\u{200c}"] {
        assert!(!concealed_in_text(&text.repeat(MANY)).is_empty(), "{text:?}");
    }
    assert_eq!(concealed_in_text(&"🙂\u{200d}".repeat(MANY)), []);
    let nested = format!("א{}א{}", "\u{2067}".repeat(MANY), "\u{2069}".repeat(MANY));
    assert!(!concealed_in_text(&nested).is_empty());
}
