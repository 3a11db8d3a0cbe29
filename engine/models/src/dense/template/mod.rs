//! A conversation as the one text that a model was trained to continue, by the template that
//! comes with its weights.
//!
//! Templates are Jinja as transformers renders them: blocks trimmed, loops with `break`, Python's
//! string methods, and the functions `raise_exception`, `strftime_now` and `tojson`. They come
//! with the weights and are trusted as these are; how long one may run is bounded all the same.

mod date;
mod json;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error as Jinja, ErrorKind, Value, context, value::Serde};
use runtime::{Message, Part, Tool};
use serde::Serialize;

use self::date::Date;

/// Instructions that one rendering may take: a hundred times what a long conversation needs.
const FUEL: u64 = 20_000_000;

/// A chat template that was read.
pub(super) struct Template {
    environment: Environment<'static>,
    takes_tools: bool,
    /// What the template may write before and behind a conversation.
    bos: String,
    eos: String,
}

impl Template {
    /// Reads a template. `bos` and `eos` are the tokens that it may name, as they are written.
    ///
    /// # Errors
    /// Where its syntax is wrong, with the line.
    pub(super) fn new(source: &str, bos: &str, eos: &str) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        environment.set_fuel(Some(FUEL));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", refuse);
        environment.add_filter("tojson", json::dumps);
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|error| error.to_string())?;
        let template = environment.get_template(NAME);
        let names = template.map(|template| template.undeclared_variables(false));
        let takes_tools = names.is_ok_and(|names| names.contains("tools"));
        Ok(Self {
            environment,
            takes_tools,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
        })
    }

    /// Whether the template has a place for tools.
    pub(super) fn takes_tools(&self) -> bool {
        self.takes_tools
    }

    /// The text of a conversation, up to where the assistant's answer begins. `now` is the date
    /// that the template may name, in seconds since 1970.
    ///
    /// # Errors
    /// What the template says about a conversation that it does not take.
    pub(super) fn render(
        &self,
        messages: &[Message],
        tools: &[Tool],
        now: u64,
    ) -> Result<String, String> {
        let date = Date::of(now);
        let strftime =
            move |format: &str| -> Result<String, Jinja> { date.format(format).map_err(invalid) };
        let tools: Vec<Value> = tools
            .iter()
            .map(|tool| Value::from(Serde(Offer::new(tool))))
            .collect();
        let context = context! {
            messages => messages.iter().map(|message| Value::from(Serde(Turn::new(message)))).collect::<Vec<_>>(),
            tools => if tools.is_empty() { Value::from(()) } else { Value::from(tools) },
            add_generation_prompt => true,
            bos_token => &self.bos,
            eos_token => &self.eos,
            strftime_now => Value::from_function(strftime),
        };
        let template = self.environment.get_template(NAME);
        let rendered = template.and_then(|template| template.render(context));
        rendered.map_err(|error| match error.detail() {
            Some(detail) => detail.to_owned(),
            None => error.to_string(),
        })
    }
}

const NAME: &str = "chat";

fn invalid(message: String) -> Jinja {
    Jinja::new(ErrorKind::InvalidOperation, message)
}

/// What a template calls for a conversation that it does not take.
fn refuse(message: String) -> Result<String, Jinja> {
    Err(invalid(message))
}

/// A message as templates know them.
#[derive(Serialize)]
struct Turn<'a> {
    role: &'a str,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Value,
}

impl<'a> Turn<'a> {
    fn new(message: &'a Message) -> Self {
        let texts = message.content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let calls = message.tool_calls.iter().map(|call| Call {
            id: &call.id,
            r#type: "function",
            function: Function {
                name: &call.name,
                arguments: json::value(&call.arguments),
            },
        });
        Self {
            role: &message.role,
            content: texts.collect(),
            name: message.name.as_deref(),
            tool_calls: calls.collect(),
            tool_call_id: message.tool_call_id.as_deref(),
        }
    }
}

/// A tool as templates know them.
#[derive(Serialize)]
struct Offer<'a> {
    r#type: &'static str,
    function: Signature<'a>,
}

#[derive(Serialize)]
struct Signature<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: Value,
}

impl<'a> Offer<'a> {
    fn new(tool: &'a Tool) -> Self {
        Self {
            r#type: "function",
            function: Signature {
                name: &tool.name,
                description: tool.description.as_deref(),
                parameters: json::value(&tool.parameters),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::ToolCall;

    use super::*;

    /// As Llama 3's and Qwen's templates do it, shortened.
    const RICH: &str = r#"{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- endif %}
{%- endif %}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0]['content'].strip() %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- date_string + "|" + (system or "-") + "\n" }}
{%- for tool in tools or [] %}
    {{- tool | tojson }}
    {{- "\n" }}
{%- endfor %}
{%- set ns = namespace(last="") %}
{%- for message in messages %}
    {%- if message.role == ns.last %}
        {{- raise_exception("roles must alternate, got " ~ message.role ~ " twice") }}
    {%- endif %}
    {%- set ns.last = message.role %}
    {%- if message.role == "skip" %}{% continue %}{% endif %}
    {{- message.role | trim }}: {{ message.content.split('</think>')[-1].lstrip('\n') }}
    {%- for call in message.tool_calls or [] %}
        {{- " " ~ call.function.name }}({{ call.function.arguments | tojson }})
    {%- endfor %}
    {{- "\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "assistant:" }}{% endif %}"#;

    fn rich() -> Template {
        Template::new(RICH, "<s>", "</s>").unwrap()
    }

    /// 1 December 2026.
    const NOW: u64 = 1_796_083_200;

    #[test]
    fn a_templates_own_functions_work() {
        let mut answer = Message::text("assistant", "<think>hm</think>\n\nLooking.");
        answer.tool_calls.push(ToolCall {
            id: "c1".into(),
            name: "look".into(),
            arguments: r#"{"z": 1, "a": "é"}"#.into(),
        });
        let tools = [Tool {
            name: "look".into(),
            description: Some("Looks <here>".into()),
            parameters: r#"{"type": "object", "properties": {}}"#.into(),
        }];
        let messages = [
            Message::text("system", "  Be brief. "),
            Message::text("user", "Where?"),
            answer,
            Message::text("skip", "x"),
        ];
        let expected = concat!(
            "<s>01 Dec 2026|Be brief.\n",
            r#"{"type": "function", "function": {"name": "look", "description": "Looks <here>", "#,
            r#""parameters": {"type": "object", "properties": {}}}}"#,
            "\nuser: Where?\n",
            r#"assistant: Looking. look({"z": 1, "a": "é"})"#,
            "\nassistant:",
        );
        let template = rich();
        assert!(template.takes_tools());
        assert_eq!(template.render(&messages, &tools, NOW).unwrap(), expected);
    }

    #[test]
    fn what_a_template_refuses_is_told_in_its_words() {
        let messages = [Message::text("user", "a"), Message::text("user", "b")];
        let refused = rich().render(&messages, &[], NOW).unwrap_err();
        assert_eq!(refused, "roles must alternate, got user twice");
    }

    #[test]
    fn a_template_that_never_ends_is_ended() {
        let endless =
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
        let template = Template::new(endless, "", "").unwrap();
        assert!(!template.takes_tools());
        let error = template.render(&[], &[], NOW).unwrap_err();
        assert!(error.contains("fuel"), "{error}");
    }

    #[test]
    fn wrong_syntax_is_told_with_its_line() {
        let error = Template::new("a\n{% for %}", "", "").err().unwrap();
        assert!(error.contains("chat:2"), "{error}");
    }
}
