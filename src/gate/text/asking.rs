//! Text that asks a person for a secret, told from text that is about one.
//!
//! A word alone says nothing: "password length", "token budget" and "name of the
//! API key" are honest. Asked for is the secret itself: a field is called by it,
//! or a sentence asks for it, and no word behind or before turns it into a
//! property of the secret. Words are data, by language; a pattern of letters in
//! the middle of a word is never one.

use std::{collections::HashSet, sync::LazyLock};

use super::{decode, normalize::normalize};

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The name or the title of a field: what is to be typed in.
    Label,
    /// A sentence: it must ask.
    Sentence,
}

/// Secrets that a form may not ask for, word by word, in normalised text
/// (lower case, no marks on Latin letters). The last word may be a plural.
const SECRETS: [&str; 6] = [
    // English
    "password, passwd, pwd, passphrase, pass phrase, passcode, seed phrase, seed words, recovery phrase, \
     recovery key, recovery code, backup code, mnemonic, mnemonic phrase, private key, secret key, \
     signing key, encryption key, ssh key, api key, api secret, api token, client secret, shared secret, \
     access key, access token, auth token, authentication token, authorization token, bearer token, \
     refresh token, session token, session cookie, personal access token, github token, jwt, credit card, \
     debit card, card number, credit card number, cvv, cvc, card security code, pin code, pin number, one \
     time code, one time password, otp, totp, otp code, verification code, authentication code, \
     authenticator code, security code, sms code, login code, 2fa code, mfa code, two factor code, social \
     security number, ssn, credentials",
    // Spanish
    "contrasena, clave secreta, clave privada, clave de acceso, clave de api, frase semilla, frase de \
     recuperacion, codigo de verificacion, codigo de un solo uso, codigo de seguridad, numero de tarjeta, \
     token de acceso",
    // French
    "mot de passe, mots de passe, cle privee, cle secrete, cle api, cle d'api, phrase secrete, phrase de \
     recuperation, code de verification, code a usage unique, code de securite, code secret, numero de \
     carte, jeton d'acces",
    // German
    "passwort, passworter, kennwort, kennworter, zugangsdaten, geheimzahl, privater schlussel, privaten \
     schlussel, geheimer schlussel, geheimen schlussel, api schlussel, wiederherstellungsphrase, \
     einmalcode, einmalpasswort, bestatigungscode, sicherheitscode, kartennummer, kreditkartennummer, \
     prufziffer, zugriffstoken, tan",
    // Portuguese
    "senha, palavra passe, chave privada, chave secreta, chave de api, frase de recuperacao, codigo de \
     verificacao, codigo de uso unico, codigo de seguranca, numero do cartao, token de acesso",
    // Italian
    "parola d'ordine, chiave privata, chiave segreta, chiave api, frase di recupero, codice di verifica, \
     codice monouso, codice di sicurezza, numero della carta, numero di carta, token di accesso",
];

/// Secrets in languages that are not matched word by word: stems, which may
/// stand anywhere in a word.
const STEMS: &str = "парол, секретный ключ, приватный ключ, закрытый ключ, сид-фраз, сид фраз, код подтверждения, \
    одноразовый код, номер карты, пин-код, 密码, 密碼, 口令, 私钥, 私鑰, 助记词, 助記詞, 密钥, 密鑰, 验证码, 驗證碼, 卡号, 卡號, 访问令牌, \
    パスワード, 暗証番号, 秘密鍵, シードフレーズ, 認証コード, 確認コード, ワンタイム, カード番号, アクセストークン";

/// Words directly behind a secret that make it something else.
const PROPERTIES: &str = "length, lengths, size, strength, policy, policies, rule, rules, requirement, requirements, manager, \
    managers, complexity, generator, reset, resets, expiry, expiration, expires, rotation, age, budget, \
    count, counts, limit, limits, quota, type, types, kind, format, formats, algorithm, name, names, \
    label, description, id, ids, identifier, fingerprint, protection, \
    protected, characters, digits, alphabet, history, hash, hashing, provider, issuer, brand, network, \
    lifetime, ttl, scope, scopes, usage, method, visibility, template, owner, location, \
    path, file, filename, flow, email, delivery, channel, languages, schema, lange, richtlinie, longueur, regle, \
    longitud, politica, tamanho, lunghezza";

/// Words behind a secret that say something of it instead of asking for it; a
/// label is none the better for them.
const TELLING: &str =
    "is, are, was, were, has, have, will, field, fields, prompt, prompts, screen, page, change, changes";

/// What asks all the same behind "is".
const WANTED: &str = "needed, required, necessary, missing, expected, wanted";

/// Labels that are nothing but one word, which alone would say too little.
const BARE_LABELS: &str = "token, secret, secrets, pin, pw, pass, cookie";

/// Stems behind (or, for Russian, before) a secret that make it something else.
const STEM_PROPERTIES: &str =
    "长度, 長度, 策略, 规则, 規則, 强度, 強度, 管理, の長さ, の文字数, ポリシー, の強度, 管理ツール";

/// Words before a secret, between it and what asks, that make it something else:
/// "name of the password", "without a password".
const TURNS: &str = "of, for, from, about, with, without, whose, which, no, not, never, any, via, by, on, than, per, max, \
    maximum, min, minimum, remember, forgot, forgotten, if, when, after, that, de, del, du, des, da, do, \
    della, fur, von, ohne, der, sans, sin, sem, senza, pour, para, kein, keine, mit";

/// What asks for the thing that follows.
const ASKS: &str = "enter, type, provide, give, supply, paste, send, tell, share, input, confirm, submit, need, needs, \
    require, requires, required, want, insert, fill, write, reveal, disclose, verify, reenter, retype, \
    repeat, what, what's, is, add, put, use, introduzca, introduce, ingrese, ingresa, escriba, escribe, \
    indique, indica, proporcione, entrez, saisissez, saisir, entre, donnez, indiquez, fournissez, geben, \
    gib, eingeben, nennen, bitte, digite, insira, informe, forneca, inserisci, inserire, digita, \
    fornisci";

/// Whose it is: at the head of a sentence, that asks as a label does.
const OWNERS: &str = "your, su, tu, votre, ton, ihr, ihre, ihren, dein, deine, deinen, sua, seu, tua, tuo, suo";

/// What asks, where words are not set apart, and in Russian.
const STEM_ASKS: &str =
    "введите, укажите, сообщите, введи, ваш, 输入, 輸入, 提供, 填写, 填寫, 入力, 教えて, 您的, 你的, あなたの";

/// The lists above, taken apart.
struct Words {
    secrets: Vec<Vec<&'static str>>,
    stems: Vec<&'static str>,
    properties: HashSet<&'static str>,
    stem_properties: Vec<&'static str>,
    telling: HashSet<&'static str>,
    wanted: HashSet<&'static str>,
    bare_labels: HashSet<&'static str>,
    turns: HashSet<&'static str>,
    asks: HashSet<&'static str>,
    owners: HashSet<&'static str>,
    stem_asks: Vec<&'static str>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words {
    secrets: SECRETS.iter().flat_map(|list| parts(list)).map(|secret| words(secret).collect()).collect(),
    stems: parts(STEMS).collect(),
    properties: parts(PROPERTIES).collect(),
    stem_properties: parts(STEM_PROPERTIES).collect(),
    telling: parts(TELLING).collect(),
    wanted: parts(WANTED).collect(),
    bare_labels: parts(BARE_LABELS).collect(),
    turns: parts(TURNS).collect(),
    asks: parts(ASKS).collect(),
    owners: parts(OWNERS).collect(),
    stem_asks: parts(STEM_ASKS).collect(),
});

fn parts(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').map(str::trim)
}

/// How far before a secret what asks for it may stand, in words.
const REACH: usize = 6;

/// Whether a text asks for a secret.
pub fn asks_for_secret(text: &str, place: Place) -> bool {
    let text = parted(text);
    let normal = normalize(&text, false).text;
    asks(&normal, place)
        || decode::unspaced(&normal).is_some_and(|plain| asks(&plain, place))
        || ['i', 'l'].into_iter().any(|one| decode::unleeted(&normal, one).is_some_and(|plain| asks(&plain, place)))
}

/// The letters and digits of a text, without disguise: two texts that a person
/// takes for the same have them in common.
pub fn bare(text: &str) -> String {
    normalize(text, false).text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// `apiKey` and `api_key` in words.
fn parted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            out.push(' ');
        }
        out.push(if c == '_' { ' ' } else { c });
        last = c;
    }
    out
}

fn asks(text: &str, place: Place) -> bool {
    if !text.is_ascii() && asks_by_stem(text, place) {
        return true;
    }
    text.split(['.', '!', '?', ';', '\n', ':']).any(|sentence| {
        let words: Vec<&str> = words(sentence).collect();
        if place == Place::Label && words.len() == 1 && WORDS.bare_labels.contains(words[0]) {
            return true;
        }
        (0..words.len()).any(|at| secret_at(&words, at).is_some_and(|length| asked(&words, at, length, place)))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty())
}

/// How many words the longest secret at `at` has.
fn secret_at(words: &[&str], at: usize) -> Option<usize> {
    let stands = |secret: &&Vec<&str>| {
        let Some(there) = words.get(at..at + secret.len()) else { return false };
        let (Some((last, first)), Some((there_last, there_first))) = (secret.split_last(), there.split_last()) else {
            return false;
        };
        first == there_first && (there_last == last || there_last.strip_suffix('s') == Some(last))
    };
    WORDS.secrets.iter().filter(stands).map(Vec::len).max()
}

fn asked(words: &[&str], at: usize, length: usize, place: Place) -> bool {
    if words.get(at + length).is_some_and(|next| WORDS.properties.contains(next)) {
        return false;
    }
    let mut before = words[..at].iter().rev().take(REACH);
    match place {
        Place::Label => !before.any(|word| WORDS.turns.contains(word)),
        Place::Sentence => {
            let mut behind = words[at + length..].iter();
            if behind.next().is_some_and(|next| WORDS.telling.contains(next)) {
                return behind.next().is_some_and(|next| WORDS.wanted.contains(next));
            }
            let owned = at <= 2 && words.first().is_some_and(|word| WORDS.owners.contains(word));
            owned || before.take_while(|word| !WORDS.turns.contains(**word)).any(|word| WORDS.asks.contains(word))
        }
    }
}

fn asks_by_stem(text: &str, place: Place) -> bool {
    text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']).any(|sentence| {
        let asking = place == Place::Label || WORDS.stem_asks.iter().any(|word| sentence.contains(word));
        asking
            && WORDS.stems.iter().any(|stem| {
                sentence.match_indices(*stem).any(|(at, _)| {
                    let behind = &sentence[at + stem.len()..];
                    let turned = WORDS.stem_properties.iter().any(|word| behind.starts_with(word));
                    // In Russian what is said of a secret stands before it: "длина пароля".
                    let russian = stem.starts_with(|c: char| ('а'..='я').contains(&c));
                    let of = ["длин", "сложност", "срок", "политик", "менеджер"];
                    !turned && (!russian || !of.iter().any(|word| sentence[..at].contains(word)))
                })
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_secrets_are_found_in_any_spelling() {
        for label in [
            "password",
            "Password",
            "userPassword",
            "db_password",
            "PASSWORD (again)",
            "New passphrase",
            "apiKey",
            "API key",
            "password_field",
            "token",
            "seed-phrase",
            "Seed phrase (24 words)",
            "private_key",
            "Card number",
            "cvv",
            "One-time code",
            "OTP",
            "p\u{430}ssword",
            "pass\u{200b}word",
            "p4ssw0rd",
            "p a s s w o r d",
            "Contraseña",
            "Mot de passe",
            "Kennwort",
            "Senha",
            "Chiave privata",
            "Пароль",
            "验证码",
            "パスワード",
        ] {
            assert!(asks_for_secret(label, Place::Label), "{label}");
        }
    }

    #[test]
    fn sentences_that_ask_are_found() {
        for sentence in [
            "Please enter your password to go on.",
            "To verify your account, type the seed phrase of 12 words",
            "We need your current API key.",
            "Your password is required",
            "Confirm the six digits: what is the verification code?",
            "Introduzca su contraseña.",
            "Veuillez saisir votre mot de passe",
            "Bitte geben Sie Ihr Passwort ein.",
            "Digite a senha, por favor",
            "Inserisci il codice di verifica",
            "Введите пароль",
            "请输入密码",
            "パスワードを入力してください",
        ] {
            assert!(asks_for_secret(sentence, Place::Sentence), "{sentence}");
        }
    }

    #[test]
    fn what_is_only_about_a_secret_passes() {
        for label in [
            "passwordLength",
            "Password length",
            "maximum_password_age",
            "Name of the API key",
            "api_key_name",
            "Token budget",
            "max_tokens",
            "Key signature",
            "key",
            "Remember password",
            "Length of the passphrase",
            "pinned",
            "passage",
            "compass word",
            "Secretary",
            "cardinality",
            "Passwortlänge",
            "Longueur du mot de passe",
            "密码长度",
            "パスワードの長さ",
            "Длина пароля",
            "Keyboard layout",
            "Postal code",
            "Language code",
            "Authentication method",
        ] {
            assert!(!asks_for_secret(label, Place::Label), "{label}");
        }
        for sentence in [
            "Choose how long generated passwords should be.",
            "Your password was changed. How shall we tell you?",
            "Give a name for the new API key.",
            "Which key signature should the score have?",
            "How large may the token budget be?",
            "We will never ask for your password.",
            "Select the password policy.",
            "Which password manager do you use?",
        ] {
            assert!(!asks_for_secret(sentence, Place::Sentence), "{sentence}");
        }
    }
}
