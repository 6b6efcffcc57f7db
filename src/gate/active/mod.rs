//! Documents that do something when they are shown: script in SVG and HTML.
//!
//! A document is read by every reader that may show it. An SVG picture is XML,
//! and HTML where a page takes it in; what hides from one of them (in CDATA, in a
//! comment, in an attribute that the other one ends earlier) is found by the
//! other. What none of them can read is not shown to be inert.

mod css;
mod html;
mod markup;
mod xml;

/// What a document is, by what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A picture in SVG.
    Svg,
    /// A page in HTML or XHTML.
    Html,
}

/// Why a document is not inert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It does something: what, in a few words.
    Active(&'static str),
    /// It can't be read as what it is called.
    Unreadable,
}

impl Form {
    /// The form that a media type names.
    pub(super) fn of_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "image/svg+xml" | "image/svg" | "image/svg-xml" | "application/svg+xml" => Some(Self::Svg),
            "text/html" | "application/xhtml+xml" | "text/xhtml" => Some(Self::Html),
            _ => None,
        }
    }

    /// The form that the end of an address names.
    pub(super) fn of_address(uri: &str) -> Option<Self> {
        let path = uri.split(['?', '#']).next().unwrap_or_default();
        let end = path.rsplit(['/', '.']).next().unwrap_or_default().to_ascii_lowercase();
        match end.as_str() {
            "svg" => Some(Self::Svg),
            "html" | "htm" | "xhtml" | "xht" => Some(Self::Html),
            _ => None,
        }
    }

    /// The form that a document begins as, whatever it is called: by the name of
    /// its root. One that begins with a tag and doesn't come to its root within
    /// the beginning may be a picture.
    pub(super) fn of_beginning(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        let mut rest = text.trim_start().strip_prefix('<')?;
        loop {
            let ends = match rest.as_bytes().first() {
                Some(b'?') => "?>",
                Some(b'!') if rest.starts_with("!--") => "-->",
                Some(b'!') if rest.split('>').next().is_some_and(|doctype| doctype.contains('[')) => "]",
                Some(b'!') => ">",
                _ => break,
            };
            let Some((_, after)) = rest.split_once(ends).and_then(|(_, after)| after.split_once('<')) else {
                return Some(Self::Svg);
            };
            rest = after;
        }
        let name = rest.split(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').next().unwrap_or_default();
        match markup::local(name).as_str() {
            "svg" => Some(Self::Svg),
            "html" | "head" | "body" => Some(Self::Html),
            _ => None,
        }
    }
}

/// What makes a document more than a picture or a text; `None` for an inert one.
pub(super) fn find(form: Form, bytes: &[u8]) -> Option<Found> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Other encodings than those in which ASCII is itself hide tags from us.
    if bytes.contains(&0) || !bytes.trim_ascii_start().starts_with(b"<") && form == Form::Svg {
        return Some(Found::Unreadable);
    }
    let text = String::from_utf8_lossy(bytes);
    match form {
        Form::Svg => xml::find(&text).or_else(|| html::find(form, &xml::without_cdata(&text))),
        // A page takes CDATA for a comment, and for text in a picture of its own.
        Form::Html if text.contains("<![CDATA[") => Some(Found::Unreadable),
        Form::Html => html::find(form, &text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(inner: &str) -> Option<Found> {
        find(Form::Svg, format!("<svg xmlns='http://www.w3.org/2000/svg'>{inner}</svg>").as_bytes())
    }

    #[track_caller]
    fn active(found: Option<Found>, text: &str) {
        assert!(matches!(found, Some(Found::Active(_))), "{found:?}: {text}");
    }

    #[test]
    fn inert_pictures_are_inert() {
        for inner in [
            "",
            "<title>How to alert('x') &amp; onload=</title><path d='M1 7h6L4 1z'/>",
            "<defs><linearGradient id='g'/></defs><rect fill='url(#g)' style='fill: url( \"#g\" )'/>",
            "<style><![CDATA[ .a > .b { fill: red } ]]></style><use href='#a' xlink:href='#a'/>",
            "<style>@font-face{font-family:x;src:url(data:font/woff2;base64,AAAA)}</style>",
            "<a href='https://docs.example/?q=javascript:'><text>once upon</text></a>",
            "<image href='data:image/png;base64,AAAA'/><!-- drawn by hand > 2030 -->",
            "<animate attributeName='opacity' values='0;1' onthe='x'/>".replace(" onthe='x'", "").as_str(),
            "<metadata><rdf:li rdf:resource='https://x.example/'/></metadata>",
        ] {
            assert_eq!(svg(inner), None, "{inner}");
        }
        for whole in [
            "\u{feff}<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n<svg/>",
            "<!DOCTYPE svg [ <!ENTITY ns_svg \"http://www.w3.org/2000/svg\"> ]><svg xmlns='&ns_svg;'><text>&ns_svg;</text></svg>",
        ] {
            assert_eq!(find(Form::Svg, whole.as_bytes()), None, "{whole}");
        }
    }

    #[test]
    fn active_pictures_are_active() {
        for inner in [
            "<script>alert(1)</script>",
            "<SCRIPT/>",
            "<s:script xmlns:s='http://www.w3.org/2000/svg' href='x.js'/>",
            "<g onload='alert(1)'/>",
            "<g\nONMOUSEOVER = alert>x</g>".replace("= alert", "= 'alert'").as_str(),
            "<a href='javascript:alert(1)'/>",
            "<a xlink:href=' java&#10;script:alert(1)'/>",
            "<a href='&#x6a;avascript:alert(1)'/>",
            "<a><animate attributeName='href' values='x;javascript:alert(1)'/></a>",
            "<set attributeName='onmouseover' to='alert(1)'/>",
            "<foreignObject><p>x</p></foreignObject>",
            "<iframe/>",
            "<use href='data:image/svg+xml;base64,AAAA#x'/>",
            "<image href='https://beacon.example/x.png'/>",
            "<image xlink:href='//beacon.example/x.png'/>",
            "<feImage href='/logout'/>",
            "<rect fill='url(https://beacon.example/x#g)'/>",
            "<rect style='fill: u\\72l(//beacon.example/x)'/>",
            "<style>@im/**/port 'x'; @import 'https://beacon.example/x.css';</style>",
            "<style><![CDATA[ @import url(//beacon.example/x.css); ]]></style>",
            "<title><![CDATA[ <script>alert(1)</script> ]]></title>",
            "<!-- --!><script>alert(1)</script> -->",
            "<g title='&lt;script>alert(1)&lt;/script>'/>",
        ] {
            active(svg(inner), inner);
        }
        for whole in [
            "<?xml-stylesheet href='x.xsl' type='text/xsl'?><svg/>",
            "<!DOCTYPE svg [ <!ENTITY x '<script>alert(1)</script>'> ]><svg>&x;</svg>",
            "<!DOCTYPE svg [ <!ENTITY x '&#60;script>alert(1)&#60;/script>'> ]><svg>&x;</svg>",
            "<!DOCTYPE svg [ <!ENTITY x SYSTEM 'file:///etc/hostname'> ]><svg>&x;</svg>",
            "<!DOCTYPE svg [ <!ENTITY % x 'y'> ]><svg/>",
            "<!DOCTYPE svg [ <!ATTLIST svg onload CDATA 'alert(1)'> ]><svg/>",
            "<!DOCTYPE svg [ <!ENTITY a 'java'> ]><svg><a href='&a;script:alert(1)'/></svg>",
        ] {
            active(find(Form::Svg, whole.as_bytes()), whole);
        }
    }

    #[test]
    fn what_can_not_be_read_is_not_inert() {
        for whole in [
            "<svg><g></svg>",
            "<svg",
            "\u{1f}\u{8b}gzip",
            "",
            "<\0s\0v\0g\0/\0>\0",
            "<?xml version='1.0' encoding='utf-7'?><svg/>",
            "<svg a='1' a='2'/>",
        ] {
            assert_eq!(find(Form::Svg, whole.as_bytes()), Some(Found::Unreadable), "{whole:?}");
        }
    }

    #[test]
    fn pages_are_read_as_a_browser_does() {
        let page = |text: &str| find(Form::Html, text.as_bytes());
        for text in [
            "<!DOCTYPE html><title>JavaScript: the parts</title><p onclick>".replace(" onclick", "").as_str(),
            "<meta name=description content='JavaScript: a > b'><img src=https://x.example/a.png><br>",
            "<script type='application/ld+json'>{\"a\":1}</script><link rel=stylesheet href=x.css>",
            "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre><a href='/a?b=javascript:'>x</a>",
            "<form action='/search'><input name=q></form> 1 < 2",
        ] {
            assert_eq!(page(text), None, "{text}");
        }
        for text in [
            "<script>alert(1)</script>",
            "<script type=module>x</script>",
            "<img src=x onerror=alert(1)>",
            "<img/src='x'/onerror=alert(1)>",
            "<style><!--</style><script>alert(1)</script>--></style>",
            "<!--><script>alert(1)</script>-->",
            "<svg><style><a title=\"</style><script>alert(1)</script>\">",
            "<iframe srcdoc='x'></iframe>",
            "<a href='jAvAsCrIpT&colon;alert(1)'>x</a>",
            "<a href='\u{1}java\tscript:alert(1)'>x</a>",
            "<form><button formaction=javascript:alert(1)>x</button></form>",
            "<meta http-equiv=Refresh content='0;url=https://x.example'>",
            "<base href=https://x.example/>",
            "<object data=x></object>",
            "<a href='data:text/html,x'>x</a>",
            "<link rel=modulepreload href=x>",
        ] {
            active(page(text), text);
        }
        assert_eq!(page("<p><![CDATA[ x ]]></p>"), Some(Found::Unreadable));
        assert_eq!(page("<img src=x onerror=alert(1) "), Some(Found::Unreadable));
    }

    #[test]
    fn forms_are_told_by_name_and_by_beginning() {
        assert_eq!(Form::of_type("Image/SVG+XML; charset=utf-8"), Some(Form::Svg));
        assert_eq!(Form::of_type("text/HTML"), Some(Form::Html));
        assert_eq!(Form::of_type("image/png"), None);
        assert_eq!(Form::of_address("https://x.example/a.SVG?b=c.png"), Some(Form::Svg));
        assert_eq!(Form::of_address("file:///svg/readme"), None);
        assert_eq!(Form::of_beginning(b"\xef\xbb\xbf \n<SVG>"), Some(Form::Svg));
        for (beginning, form) in [
            ("<?xml version='1.0'?><!-- > --><!DOCTYPE svg [<!ENTITY a '>'>]>\n<x:svg>", Some(Form::Svg)),
            ("<!DOCTYPE html><html>", Some(Form::Html)),
            ("<?xml version='1.0'?><rss><item>", None),
            ("<!-- so long that its root is not here", Some(Form::Svg)),
            ("PNG", None),
            ("{\"a\":\"<svg>\"}", None),
        ] {
            assert_eq!(Form::of_beginning(beginning.as_bytes()), form, "{beginning}");
        }
    }
}
