//! The rules of the description scan, as data.
//!
//! A rule names an act that no definition has a reason to ask of a model:
//! overriding its instructions, hiding something from the user, handing over
//! secrets or internals, binding other tools. Emphasis alone, and orders that a
//! tool gives about its own use, are no rule.
//!
//! Patterns see normalised text: lower case, no marks on Latin letters, line
//! breaks kept. They work on bytes; `.` and `[^\n]` never leave the line, so a
//! rule can't be pieced together from two paragraphs. `@name` stands for a
//! fragment of [`FRAGMENTS`].

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its permanent id, which a policy may except.
    pub id: &'static str,
    /// What it looks for.
    pub doc: &'static str,
    /// What every text that a pattern finds holds, one of these at least: cheap
    /// to look for, so that most text is passed over.
    pub(super) anchors: &'static [&'static str],
    /// Patterns, any of which is a finding.
    pub patterns: &'static [&'static str],
}

/// What `@name` stands for in a pattern. Longer names come first.
pub(super) const FRAGMENTS: &[(&str, &str)] = &[
    (
        "@user",
        r"(?:the |your |any |an? |our )?(?:end[- ])?(?:users?|humans?|operators?|customers?|person|people|anyone|anybody)\b",
    ),
    (
        "@not",
        r"(?:do not|don'?t|never|must not|mustn'?t|should not|shouldn'?t|shall not|cannot|can'?t|refrain from|avoid|not to|no need to)",
    ),
    ("@near", r"[^.!?\n]{0,60}?"),
    ("@gap", r"[^.!?\n]{0,30}?"),
    ("@reach", r"[^\n]{0,60}?"),
    ("@line", r"[^\n]{0,160}?"),
    (
        "@secret",
        r"(?:\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.aws/(?:credentials|config)|/etc/(?:shadow|passwd)|\.netrc\b|\.git-credentials|\.gnupg|\.kube/config|\.docker/config|\.npmrc\b|\.pypirc\b|wallet\.dat|\.(?:bash|zsh)_history|(?:cursor|claude|windsurf|vscode)[^\s]{0,20}(?:mcp|desktop_config)\.json|\.cursor/mcp|[ /'`\x22(]\.env\b|private[- _]keys?\b|ssh[- _]keys?\b|key ?chain\b|seed[- _]phrase|~/\.config/|\b(?:secrets?|credentials?|tokens?)\.(?:json|ya?ml|toml|txt|env)\b|(?:password|credentials?|secrets?|tokens?)[- ](?:file|store|vault)\b)",
    ),
    (
        "@hand",
        r"\b(?:pass|put|include|send|provide|paste|insert|supply|append|attach|copy|write|place|embed|submit|upload|forward|post|return|add|give|report|transmit|set|fill|share|leak|exfiltrate|store|use it as|hand|prepend|prefix|concatenate)\b",
    ),
    (
        "@slot",
        r"\b(?:parameters?|arguments?|params?|args?|fields?|inputs?|propert(?:y|ies)|query|headers?|sidenote|notes?|call|tool|url|https?:|endpoint|server|webhook|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z])",
    ),
    (
        "@talk",
        r"\b(?:(?:conversations?|chat|messages?|sessions?|dialog(?:ue)?s?|prompt)[- _](?:history|logs?|transcripts?|so far)|(?:full|entire|whole|complete|raw|verbatim) (?:conversation|chat|dialog(?:ue)?|transcript|context window)|(?:all|any|every) (?:the |of the )?(?:previous|prior|earlier|past|preceding) (?:messages?|turns?|prompts?|tool (?:calls?|results?|outputs?))|everything (?:that )?(?:the user|you have|has been) (?:said|seen|wrote|been told|read))\b",
    ),
    (
        "@inner",
        r"\b(?:(?:your|the|its) (?:(?:full|entire|whole|complete|exact|own|original|initial|hidden|raw|current) )*(?:system (?:prompt|messages?|instructions?)|developer (?:prompt|messages?|instructions?)|hidden (?:prompt|instructions?)|initial (?:prompt|instructions?)|chain[- ]of[- ]thought)|system[- _]prompt)\b",
    ),
    (
        "@orders",
        r"\b(?:instructions?|prompts?|directives?|guidelines?|rules?|orders|commands|guardrails?|guidance|restrictions?|constraints?|safety|policy|policies|context|messages|training|you (?:were|have been|are) (?:told|given|taught)|you know)\b",
    ),
    (
        "@past",
        r"\b(?:previous(?:ly)?|prior|earlier|preceding|above|foregoing|former|past|all other|any other|your|system(?:'s)?|developer|safety|before|so far|original|initial|existing|ever|until now)\b",
    ),
    ("@paths", r"(?:~/|\.ssh|id_rsa|\.env\b|/etc/|\.aws)"),
];

/// Every rule, in the order in which findings are reported.
pub static RULES: &[Rule] = &[
    Rule {
        id: "override",
        doc: "asks the model to leave the instructions that it has",
        anchors: &[
            r"ignor|disregard|forget|overlook|neglect|dismiss|attention to|no notice of|set aside|abandon|(?:not|n'?t|stop|longer) (?:follow|obey)|(?:longer|not|n'?t|never) (?:appl|count|hold|matter)",
            r"(?:your|system|developer|safety|model|model's|previous|prior|earlier|new|updated|real|actual|true) (?:instruction|prompt|directive|guideline|guardrail|message|safety|filter|orders|system)|(?:dan|god|jailbreak|unrestricted|developer|admin) mode",
        ],
        patterns: &[
            r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overlook|neglect|dismiss|pay no attention to|take no notice of|do not (?:follow|obey)|don'?t (?:follow|obey)|stop (?:following|obeying)|no longer (?:follow|obey)|set aside|abandon)\b@gap@past@gap@orders",
            r"\b(?:ignore|disregard|forget|dismiss)\b (?:all |absolutely )?(?:everything|anything|whatever|all|what)\b@gap(?:\b(?:above|before|earlier|previously|prior|you (?:were|have been|are|know)|told|so far)\b)",
            r"\b(?:ignore|disregard|forget|dismiss)\b (?:all )?(?:of )?(?:the |everything )?(?:above|foregoing)\b(?: (?:and|text|contents?|lines?)\b| ?[.,;:!\n]|$)",
            r"\b(?:ignore|disregard|forget|pay no attention to|set aside|overlook|dismiss)\b[^.\n]{0,15}\b(?:instructions?|guidance|rules|prompts?|directives|orders|guidelines)\b@gap\b(?:given|received|got|above|before|earlier|so far|previously)\b",
            r"\b(?:instructions?|guidance|rules|prompts?|directives|orders|guidelines)\b@gap\b(?:above|before|earlier|so far|previously|given|got)\b@gap\b(?:no longer|do not|don'?t|never) (?:apply|applies|count|hold|matter)\b",
            r"\b(?:override|overrides|bypass|circumvent|disable|supersedes?|replaces?)\b (?:any |all |every |the |of )*(?:your |system |developer |safety |model(?:'s)? |previous |prior |earlier )+(?:instructions?|prompts?|directives?|guidelines?|guardrails?|messages?|safety|filters?)\b",
            r"\b(?:your )?(?:new|updated|real|actual|true) (?:system )?(?:instructions?|prompt|directives?|orders)(?: (?:are|is|follow))? ?[:=]",
            r"\b(?:enter|enable|activate|switch to|you are now in)\b (?:an? |the )?(?:developer|dan|god|jailbreak|unrestricted|debug admin) mode\b",
        ],
    },
    Rule {
        id: "override-translated",
        doc: "the same in Spanish, French, German, Portuguese, Italian, Chinese, Russian and Japanese",
        anchors: &[
            r"ignor|olvid|descart|omiso|esque|desconsidere|oublie|(?:pas|aucun) compte|neglig|abstraction|vergiss|vergessen|missacht|beacht|dimentic|trascur|[\xd0\xd1\xe3-\xe9]",
        ],
        patterns: &[
            r"\b(?:ignor(?:a|e|ar|en|ad)|olvid(?:a|e|ar|en)|descart(?:a|e|ar)|haz caso omiso|hagan? caso omiso|ignore|esquec?a|desconsidere)\b[^.\n]{0,30}\b(?:instrucciones|indicaciones|ordenes|reglas|directrices|instrucoes|regras)\b[^.\n]{0,20}\b(?:anterior(?:es)?|previas?|precedentes|del sistema|do sistema)\b",
            r"\b(?:ignor(?:a|e|ar|en)|olvid(?:a|e|ar|en)|descart(?:a|e|ar))\b[^.\n]{0,20}\b(?:anteriores|previas)\b[^.\n]{0,10}\b(?:instrucciones|indicaciones|ordenes|reglas)\b",
            r"\b(?:ignore[rz]?|oublie[rz]?|ne (?:tiens|tenez) (?:pas|aucun) compte|negligez|faites abstraction)\b[^.\n]{0,30}\b(?:instructions|consignes|directives|regles|ordres)\b[^.\n]{0,20}\b(?:precedente?s|anterieures?|ci-dessus|du systeme)\b",
            r"\b(?:ignorier[a-z]*|vergiss|vergessen sie|missachte[nt]?|beachte[nt]?)\b[^.\n]{0,30}\b(?:vorherig|bisherig|vorangegangen|vorig|fruher|obig|vorstehend)[a-z]*\b[^.\n]{0,20}\b(?:anweisung|instruktion|befehl|regel|vorgabe|richtlinie)[a-z]*",
            r"\b(?:ignora|ignorate|dimentica|dimenticate|trascura)\b[^.\n]{0,30}\b(?:istruzioni|regole|direttive)\b[^.\n]{0,20}\b(?:precedenti|di sistema)\b",
            r"(?:忽略|无视|無視|忘记|忘記|忽视|忽視|不要理会|抛开)[^\n]{0,24}(?:之前|先前|以上|前面|所有|此前|上述|系统|系統)[^\n]{0,24}(?:指令|指示|说明|說明|规则|規則|提示|命令|要求)",
            r"(?:игнорируй|игнорировать|проигнорируй|забудь|не обращай|не следуй|отбрось)[^.\n]{0,60}(?:предыдущ|прежн|вышеуказанн|все |ранее|системн)[^.\n]{0,60}(?:инструкц|указани|команд|правил|промпт)",
            r"(?:以前|これまで|前|上記|先ほど|今まで|すべて|全て)(?:の)?[^\n]{0,30}(?:指示|命令|ルール|プロンプト|規則)[^\n]{0,24}(?:無視|忘れ|従わな|破棄)",
        ],
    },
    Rule {
        id: "concealment",
        doc: "asks the model to hide something from the user",
        anchors: &[
            r"(?:tell|inform|notify|alert|warn)(?:ing)? @user|(?:to|with|let|keep|from) @user|trouble|bother|worry|burden|disturb|without (?:ever )?(?:telling|informing|alerting|warning|mentioning|disclosing|revealing)|secret|hidden|invisible|concealed|unaware|in the dark",
            r"@user (?:must|should|need|needs|may|can|does|do|is|are)(?: not|n'?t| never)|covertly|surreptitious|stealthily|silently|quietly|discreetly|usuario|utilisat|nutzer|anwender|[\xd0\xd1\xe3-\xe9]",
        ],
        patterns: &[
            r"\b@not\b (?:ever |under any circumstances )?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?)\b (?:@user)(?: ?(?:[,;:.!)\n]|$)| (?:about|of|that (?:you|this|it|these|the (?:tool|file|call))|this|anything|what|why|when you|you)\b)",
            r"\b@not\b (?:ever )?(?:mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|discuss(?:ing)?|explain(?:ing)?|talk(?:ing)? about|bring(?:ing)? up|bring(?:ing)?|raise|show)\b (?:about )?(?:this|it|that|these|any of (?:this|it|these)|anything|what|why|(?:the |these |this )(?:[a-z]+ ){0,2}(?:step|files?|parameter|instructions?|notes?|call|action|process|read|contents?|operation|detail|procedure|requirement|check))\b@gap\b(?:to|with) (?:@user)",
            r"\b@not\b (?:ever )?(?:let) (?:@user) (?:know|see|notice|learn|find out|realize|realise)\b(?: about| of| that| this| it| what|[.,;!)\n]|$)",
            r"\b@not\b (?:ever )?(?:trouble|bother|worry|burden|disturb) (?:@user) (?:with|about) (?:this|it|that|these|any of)\b",
            r"\bwithout (?:ever )?(?:telling|informing|alerting|warning|mentioning|disclosing|revealing)\b@gap(?:@user|\b(?:this|it|that)\b)",
            r"\b(?:keep|make sure)\b@gap\b(?:secret|hidden|invisible|concealed|unaware|in the dark)\b@gap(?:@user)",
            r"\b(?:keep) (?:@user) (?:unaware|in the dark|from (?:knowing|seeing|noticing))",
            r"\b(?:hide|conceal|withhold|mask|keep)\b (?:this|it|that|these|everything|(?:the |these |this )(?:[a-z]+ ){0,2}(?:step|files?|parameter|instructions?|notes?|call|action|process|contents?|operation|detail|fact))\b (?:away )?from (?:@user)",
            r"(?:(?:^|\n)|[.!?;:] ?|\b(?:must|should|always|please|to|and|then) )(?:hide|conceal|withhold) (?:the |this |that |these |those |any |every )(?:[a-z]+ ){1,4}from (?:@user)(?: ?[,;:.!)\n]| (?:and|or|so|when|if|unless|until|but)\b|$)",
            r"(?:@user) (?:must|should|need|needs|may|can|does|do|is|are)(?: not|n'?t| never)\b (?:need to |have to |supposed to |meant to |allowed to )?(?:know|see|notice|learn|realize|realise|find out|be (?:told|informed|aware|notified))\b(?: about| of| that| this| it|[.,;!\n]|$)",
            r"\b(?:secretly|covertly|surreptitiously|stealthily)\b",
            r"\b(?:silently|quietly|discreetly)\b (?:and [a-z]+ )?(?:read|send|forward|upload|copy|collect|pass|include|append|exfiltrate|transmit|attach|bcc|record)\b",
            r"\bno (?:le |les )?(?:digas|diga|informes|informe|menciones|mencione|reveles|cuentes|avises)\b[^.\n]{0,40}\busuarios?\b",
            r"\bsin (?:decirselo|informar|avisar|mencionarlo)\b[^.\n]{0,20}\busuarios?\b",
            r"\bne (?:le |la |l')?(?:dis|dites|mentionne[rz]?|informe[rz]?|revele[rz]?|parle[rz]?)\b[^.\n]{0,40}\b(?:utilisateur|utilisatrice)",
            r"\b(?:sage?n?|erwahne?n?|informiere?n?|verrate?n?|teile?n?)\b[^.\n]{0,40}\b(?:nutzer|benutzer|anwender)[a-z]*\b[^.\n]{0,30}\bnichts?\b",
            r"\b(?:ohne)\b[^.\n]{0,30}\b(?:nutzer|benutzer|anwender)[a-z]*\b[^.\n]{0,20}\b(?:zu informieren|zu sagen|mitzuteilen|davon)\b",
            r"(?:不要|别|切勿|不得|请勿)(?:告诉|告訴|告知|通知|透露|让|讓)[^\n]{0,12}(?:用户|用戶|使用者)",
            r"не (?:говори|сообщай|упоминай|рассказывай|раскрывай)[^.\n]{0,60}пользовател",
            r"(?:ユーザー|利用者)に(?:は)?[^\n]{0,30}(?:知らせない|知らせず|言わない|言わず|伝えない|伝えず|教えない|教えず|明かさない)",
        ],
    },
    Rule {
        id: "secret-read",
        doc: "asks the model to read a key, a token or a secret file and hand it over",
        anchors: &[
            r"@secret|@paths|password|credential|api[- _]key|access[- _]token|secret|session cookie|environment variable|env var|(?:values?|contents?) of (?:your|the user|all|any|every)",
        ],
        patterns: &[
            r"\b(?:you (?:must|should|need to|have to|are required to|will|can)|please|first|before (?:using|calling|invoking|running|you)|always|assistant|model|it is (?:required|necessary) to|in order to|make sure (?:to|you)|remember to|then)\b@line\b(?:read|open|cat|load|fetch|access|retrieve|look up|copy|extract|collect|obtain|grab|get)\b@reach@secret",
            r"\b(?:read|open|cat|load|fetch|access|retrieve|copy|extract|collect|obtain|grab)\b@reach@secret@line@hand@line(?:\b(?:its?|the|their|all|those)\b (?:[a-z]+ ){0,3}(?:contents?|value|text|data|keys?)|\b(?:it|them)\b (?:as|in|into|to|with|via|through|using)\b)@line",
            r"\b(?:read|open|cat|load|fetch|access|retrieve|copy|collect|get)\b@reach@secret[^\n]{0,80}\n{1,2}[^\n]{0,12}@hand@near\bcontents?\b",
            r"@hand@gap\b(?:contents?|value|text|body|copy|output)\b (?:of|from|in)\b@gap@paths",
            r"@hand@reach@secret@near\b(?:as|in|into|to|via|through|using|with)\b@gap@slot",
            r"@hand@gap\b(?:passwords?|credentials?|api[- _]keys?|access[- _]tokens?|secrets?|session cookies?|environment variables|env vars)\b@gap\b(?:you (?:have|know|can|find|hold)|(?:the |this )?(?:user|host|client|session|system)(?:'s)? (?:has|have|machine|environment|computer)|in (?:your|the) (?:context|memory|conversation|environment|session)|of (?:the )?other (?:tools?|servers?))",
            r"\bcontents? (?:of|from|in)\b@reach@secret@near\b(?:supplied|passed|put|included|placed|provided|given|sent|inserted|copied|pasted|attached|appended|added|written|in|as|into)\b@gap@slot",
            r"@hand@gap\b(?:values?|contents?) of (?:your|the user'?s|all|any|every)\b@gap\b(?:passwords?|api[- _]keys?|tokens?|secrets?|credentials?)\b",
            r"\b(?:lee|abre|lis|lisez|ouvre[rz]?|lies|lesen|offne|leggi|leia)\b[^\n]{0,60}@paths",
            r"(?:读取|讀取|阅读|打开|прочитай|прочти|открой|読み取|読み込|読んで)[^\n]{0,80}@paths|@paths[^\n]{0,60}(?:を読|读取|の内容)",
        ],
    },
    Rule {
        id: "exfiltration",
        doc: "asks for the conversation, the system prompt or the model's own reasoning",
        anchors: &[
            r"@talk|system[- _](?:prompt|message|instruction)|developer (?:prompt|message|instruction)|hidden (?:prompt|instr)|initial (?:prompt|instr)|own (?:prompt|instr)|chain[- ]of[- ]thought|reasoning|thought|thinking|copy of (?:the|this|our) (?:chat|conversation|dialog)|https?:|endpoint|webhook|[a-z0-9._%+-]@[a-z0-9-]|authorization header|bearer[_ ]token|oauth[_ ]token|session[_ ]cookie",
        ],
        patterns: &[
            r"\b(?:your|the (?:model|assistant|agent)'s) (?:(?:full|entire|whole|complete|exact|own|original|initial|hidden|raw|current|secret|internal) )*(?:system[- ](?:prompt|messages?|instructions?)|developer (?:prompt|messages?|instructions?)|hidden (?:prompt|instructions?)|initial (?:prompt|instructions?)|own (?:prompt|instructions)|chain[- ]of[- ]thought)\b",
            r"\b(?:include|pass|send|put|paste|copy|append|attach|forward|insert|embed|supply|place|reveal|leak)\b@near@inner@near\b(?:in|as|to|into|via|through|with|using)\b@gap@slot",
            r"@inner@gap\b(?:goes|must go|should go|has to go|belongs|(?:must|should|has to|needs to|have to|need to) be (?:put|passed|included|placed|supplied|provided|given|sent|copied|pasted|attached))\b",
            r"\byour (?:full |complete |entire |internal |private |hidden |raw )*(?:reasoning|thoughts?|thinking)\b@gap\b(?:verbatim|so far|in full|word for word|unabridged|unfiltered)\b",
            r"\b(?:when(?:ever)?|every time|each time|always|also|must|automatically|in addition|additionally|if the user (?:says|asks|mentions|writes|types))\b@near@hand@near@talk",
            r"\b(?:after|when(?:ever)?|every time|each time|once)\b@gap\b(?:any|every|each|all)\b@gap\b(?:files?|data|results?|outputs?|tools?|documents?|records?|calls?|e-?mails?|queries)\b@near\b(?:send|post|upload|forward|transmit|submit|report|copy|mirror)(?:ing)?\b@near(?:https?:|\bendpoint|\bwebhook|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z])",
            r"\b(?:send|post|upload|forward|transmit|submit|report)(?:ing)?\b@gap\b(?:complete|full|entire|all|whole|raw)\b@gap\b(?:contents?|data|results?|outputs?|files?|body|text|messages?)\b@near\bto\b@near(?:https?:|\bendpoint\b|\bwebhook\b)",
            r"\b(?:forward|send|report|submit|copy|leak|transmit)(?:ing)?\b@gap\b(?:authorization headers?|bearer[_ ]tokens?|oauth[_ ]tokens?|session[_ ]cookies?)\b@near\bto\b",
            r"\b(?:summari[sz]e|collect|gather|compile|record|capture)\b@gap@talk@near@hand@gap\b(?:it|them|this|the (?:summary|result))\b",
            r"@hand@near(?:@talk|\bcopy of (?:the|this|our) (?:chat|conversation|dialog(?:ue)?)\b)@near\b(?:to|with|in|into)\b (?:every|each|all|any)\b",
            r"@talk@gap\b(?:goes|must go|should go|has to go|(?:must|should|has to|needs to|have to|need to) be (?:put|passed|included|placed|supplied|provided|given|sent|copied|pasted|attached))\b",
            r"@hand@near@talk@near\b(?:as|in|into|to|via|through|using|with)\b@gap(?:\b(?:this|the|an?|your) )?(?:[`'\x22]?[a-z_]+[`'\x22]? )?(?:\bparameters?\b|\barguments?\b|\bfields?\b|\bthis (?:tool|server)\b|https?:|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z])",
            r"\b(?:send|post|upload|forward|transmit|submit|exfiltrate|leak|relay|beacon)\b@near\b(?:passwords?|credentials?|secrets?|api[- _]keys?|private keys?|session tokens?|environment variables|file contents?|contents? of (?:the |all |any )?(?:files?|workspace|conversation)|(?:all|any) (?:the )?(?:data|results?|output|files)|every (?:result|message|file|output))\b@near\bto\b@gap(?:https?:|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z])",
        ],
    },
    Rule {
        id: "tool-order",
        doc: "binds the use of every other tool to this one",
        anchors: &[
            r"(?:any|all|every)(?: of)?(?: the)?(?: your)? ?(?:other|another|different|of the other|available|tools?|actions?|thing else)|tool (?:must|has to|needs? to|should)|(?:every|each|all|any) (?:single )?(?:turn|response|reply|interaction|message|request|other tool|tool call|user message|user request|conversation)|whenever (?:you|the)|(?:us(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)) (?:the )?[`'\x22]?[a-z0-9]+[_-]",
        ],
        patterns: &[
            r"\b(?:before|prior to) (?:you )?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|execut(?:e|ing)|do(?:ing)?|perform(?:ing)?|tak(?:e|ing)|start(?:ing)?)? ?(?:any|all|every)(?: of)?(?: the)?(?: your)? ?(?:other|another|different|of the other|available|tools?|actions?|thing else)\b(?: ?tools?| ?actions?| ?calls?|thing)?",
            r"\b(?:this|the) tool (?:must|has to|needs? to|should) (?:always )?be (?:called|used|invoked|run|executed) (?:first|before)\b@gap\b(?:any|all|every|each)(?: of)?(?: the)? (?:other |user )?(?:tools?|requests?|actions?|operations?|response)\b",
            r"\b(?:in|on|with|for|at|before|after|during) (?:every|each|all) (?:single )?(?:turn|response|reply|interaction|message|request|tool call|user message|conversation)s?\b@gap\b(?:call|invoke|use|run|execute) (?:this|the) (?:tool|function)",
            r"\b(?:call|invoke|use|run|execute) this (?:tool|function)\b@gap\b(?:in|on|with|at|before|after|for) (?:every|each|all|any) (?:single )?(?:turn|response|reply|interaction|message|other tool|tool call|user (?:message|request))s?\b",
            r"\bwhenever (?:you|the (?:model|assistant|agent)) (?:use|call|invoke|run)s? (?:any|another|a different|some other) (?:other )?tools?\b",
            r"\b(?:when|whenever|if|every time|each time) (?:you |the (?:model|assistant|agent) )?(?:us(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)) (?:the )?[`'\x22]?[a-z0-9]+[_-][a-z0-9_-]+[`'\x22]?(?: tool)?\b@near\b(?:must|always|instead|also)\b@near\b(?:add|set|replace|change|append|include|send|pass|use|put|copy)\b@near(?:https?:|[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]|\bbcc\b|\brecipients?\b|\baccount\b)",
        ],
    },
    Rule {
        id: "hidden-recipient",
        doc: "has the model add or change a recipient on its own",
        anchors: &[
            r"[a-z0-9._%+-]@[a-z0-9-]|(?:replace|change|redirect|rewrite|swap|substitute|override)\b@gap\b(?:recip|desti|payee|iban|account num|wallet|bank acc|address)|(?:hidden|secret|blind|invisible) (?:recipient|cop(?:y|ies)|bcc)",
        ],
        patterns: &[
            r"\b(?:add|include|insert|put|set|append|copy)\b@gap\b(?:bcc|cc|blind[- ](?:carbon )?cop(?:y|ies)|hidden (?:copy|recipient)|(?:additional|extra|second|hidden|secret|blind) recipient)\b[^.,(\n]{0,40}[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]",
            r"\b(?:always|must|also|silently|please|should)\b@gap\b(?:bcc|cc|copy)\b@gap[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]",
            r"\b(?:add|include|insert|put|append|copy|bcc|cc|send|forward|deliver|address|route|mail|set)\b[^\n]{0,50}[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z][a-z.]*[^\n]{0,40}\b(?:bcc|blind|hidden|in copy|recipients?|(?:every|each|all|any) (?:outgoing |sent |other )?(?:e-?mails?|messages?|mails?|invoices?|payments?))\b",
            r"\b(?:when(?:ever)?|every|each|all|any|if)\b[^\n]{0,60}\b(?:e-?mails?|mails?|messages?|invoices?|payments?|transfers?)\b[^\n]{0,60}\b(?:bcc|cc|add|also|include|copy|forward|send|redirect|instead|route)\b[^\n]{0,60}[a-z0-9._%+-]+@[a-z0-9-]+\.[a-z]",
            r"\b(?:replace|change|redirect|rewrite|swap|substitute|override)\b@gap\b(?:recipients?|destination|payee|iban|account number|wallet|bank account|address)\b@gap\b(?:to|with|by|for)\b",
            r"\bbcc\b[^.,(\n]{0,20}[a-z0-9._%+-]+@[a-z0-9-]+\.[^\n]{0,40}\b(?:in|to|on|for) (?:every|each|all|any)\b",
            r"\b(?:add|include|insert|append)\b@gap\b(?:hidden|secret|blind|invisible) (?:recipients?|cop(?:y|ies)|bcc)\b",
        ],
    },
    Rule {
        id: "forged-authority",
        doc: "a mark that poses as the system, followed by an order to the model",
        anchors: &[
            r"</?(?:important|system|instructions?|secret|hidden|critical|assistant|urgent|admin|override|sys|s|inst|developer|mandatory|priority)[> _-]|\[/?(?:system|sys|inst|admin|override|developer|root)|<\||<<sys|#{2,6} ?(?:system|instruction|hidden|override|new instruction|admin)|(?:^|\n)[ \t]*(?:system|developer|admin)(?: message| prompt| note| override)?:|(?:message|order|instruction|directive|notice)s? from|user has|user already|from now on",
        ],
        patterns: &[
            r"(?s)<(?:/)?(?:important|system|instructions?|secret|hidden|critical|assistant|urgent|admin|override|sys|s|inst|developer|mandatory|priority)(?:[ _-][a-z]{0,20})?>.{0,300}?(?:\b(?:read|open|cat|access|retrieve)\b.{0,80}?(?:\bfiles?\b|~/|\.env|\.ssh|/etc/|\bkeys?\b|\bcredentials?\b|\.json\b)|\bpass\b.{0,60}?\b(?:contents?|as)\b|\bcall (?:the )?[`'\x22]?[a-z0-9]+_[a-z0-9_]+|\bsidenote\b|\bsend\b.{0,60}?\bto\b|\byou (?:are now|no longer))",
            r"(?s)(?:\[(?:/)?(?:system|sys|inst|admin|override|developer|root)(?:[ _:-][^\]\n]{0,30})?\]|<\|(?:im_start|system|start_header_id)\|>|<<sys>>|(?:^|\n)[ \t]*#{2,6} ?(?:system|instructions?|hidden|override|new instructions?|admin)\b[^\n]{0,20}|(?:^|\n)[ \t]*(?:system|developer|admin)(?: message| prompt| note| override)?:).{0,200}?\b(?:you (?:must|should|will|are|need)|always|ignore|disregard|read|send|call|append|include|execute|forward|pass|reply|respond|obey|from now on|do not|never)\b",
            r"\bthis is (?:an? )?(?:message|order|instruction|directive|notice)s? from (?:the )?(?:system|developers?|administrators?|anthropic|openai|google|microsoft|security team)\b",
            r"\b(?:as|because) the user (?:has )?already (?:approved|authori[sz]ed|consented|confirmed|granted|agreed)\b|\bthe user has (?:(?:already )?pre-?|already )(?:approved|authori[sz]ed|consented|agreed)\b",
            r"\bfrom now on\b@near\b(?:you|always|every|all|any|ignore|send|never)\b",
        ],
    },
    Rule {
        id: "priority",
        doc: "puts itself in the place of other tools",
        anchors: &[
            r"tool (?:replaces|supersedes|overrides|takes|has)|(?:use|call|invoke|trust|choose|select) (?:any |all )?(?:of the )?(?:other|another)|(?:instead of|over|rather than|before) (?:any|all|every)|other (?:tools?|servers?|versions?)",
        ],
        patterns: &[
            r"\b(?:this|the) tool (?:replaces|supersedes|overrides|takes (?:priority|precedence) over|has (?:priority|precedence) over)\b@gap\b(?:all|any|every|each)(?: of)?(?: the)? (?:other|existing|built-?in|default|previous)\b",
            r"\b@not\b (?:use|call|invoke|trust|choose|select) (?:any |all )?(?:of the )?(?:other|another) (?:tools?|servers?|functions?)(?: (?:to|for|until|than|except|besides|before|in|on)\b| ?[,;.!)\n]|$)",
            r"\b(?:always|only|must|exclusively)\b@gap\b(?:use|prefer|choose|select|call|pick)\b (?:this|our)(?: tool| server)?\b@gap\b(?:instead of|over|rather than|before)\b (?:any|all|every)\b",
            r"\b(?:all |any |the )?other (?:tools?|servers?|versions?)\b@gap\b(?:are|is|have been|has been|were)\b (?:now |all )?(?:deprecated|unsafe|insecure|compromised|malicious|broken|disabled|untrusted|dangerous)\b",
        ],
    },
    Rule {
        id: "encoded-order",
        doc: "tells the model to decode something and do as it says",
        anchors: &[r"decod|decrypt|decipher|unscramble|deobfuscate|base-?64|rot-?13|hex|reverse|encoded|hidden"],
        patterns: &[
            r"\b(?:decode|decrypt|decipher|unscramble|deobfuscate|base-?64|rot-?13|hex(?:adecimal)?|reverse)\b@near\b(?:follow|obey|comply with|act on|act upon|carry out|execute|perform|do (?:as|what))\b@gap\b(?:it|its|them|that|the (?:result|decoded|instructions?|commands?|orders?|text|message|contents?)|instructions?|what)\b",
            r"\b(?:follow|obey|comply with|carry out|execute|act on)\b@gap\b(?:decoded|decrypted|deciphered|encoded|base-?64|rot-?13|hidden)\b@gap\b(?:instructions?|commands?|orders?|text|message|contents?|result|directives?)\b",
        ],
    },
    Rule {
        id: "padding",
        doc: "pushes text out of sight with blank lines or spaces",
        anchors: &[r"\n[ \t\r]*\n[ \t\r]*\n[ \t\r]*\n|[ \t]{40}"],
        patterns: &[r"(?:\n[ \t\r]*){12,}[^\s]", r"[ \t]{200,}[^\s]"],
    },
    Rule {
        id: "squeezed-order",
        doc: "an order spelled without the spaces between its words",
        anchors: &[
            r"(?:ignore|disregard|forget)(?:all|any|the|your|of|my|previous|prior|above|earlier|preceding|system)|(?:donot|dont|never)(?:tell|inform|notify|alert|mention|reveal|disclose)",
        ],
        patterns: &[
            r"(?:ignore|disregard|forget)(?:all|any|the|your|of|my)*(?:previous|prior|above|earlier|preceding|system)(?:instructions?|prompts?|rules|orders|directives|guidelines|messages|context)",
            r"(?:donot|dont|never)(?:tell|inform|notify|alert)(?:the|your)?(?:user|human)",
            r"(?:donot|dont|never)(?:mention|reveal|disclose)(?:this|it|that|anything)(?:to)(?:the|your)?(?:user|human)",
        ],
    },
];

/// Names of parameters that ask for what is the host's alone.
pub(super) const INTERNALS: &[&str] = &[
    "system prompt",
    "system prompts",
    "system message",
    "system instructions",
    "developer prompt",
    "developer message",
    "hidden instructions",
    "hidden prompt",
    "initial prompt",
    "chain of thought",
    "internal reasoning",
    "internal thoughts",
    "reasoning trace",
    "model reasoning",
    "model instructions",
    "all available tools",
    "conversation history",
    "conversation transcript",
    "conversation log",
    "full conversation",
    "entire conversation",
    "whole conversation",
    "chat history",
    "chat transcript",
    "message history",
    "previous messages",
    "prior messages",
    "tool call history",
    "previous tool calls",
    "available tools",
    "other tools",
    "model context",
    "full context",
    "context window",
];

/// The id of the rule over [`INTERNALS`].
pub(super) const INTERNAL_PARAMETER: &str = "internal-parameter";
