//! What a session has models do.

use std::sync::Arc;

use serde_json::Value;

/// Names a question about a turn; never used twice in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(pub u64);

/// Names a transcription; never used twice in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TranscriptionId(pub u64);

/// Names a reply; never used twice in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId(pub u64);

/// What the driver must have done. Audio is mono, -1 to 1, at 16 kHz.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Say of each 512 samples how probable speech is: [`Event::Voice`]. Always whole multiples
    /// of 512, following those before without a hole.
    ///
    /// [`Event::Voice`]: super::Event::Voice
    Listen(Arc<[f32]>),
    /// Say how probable it is that the speaker has finished: [`Event::Turn`].
    ///
    /// [`Event::Turn`]: super::Event::Turn
    JudgeTurn {
        /// Its name.
        id: TurnId,
        /// The turn so far, with the silence at its end; at most its last 8 s.
        audio: Arc<[f32]>,
    },
    /// Say what was said: [`Event::Transcript`].
    ///
    /// [`Event::Transcript`]: super::Event::Transcript
    Transcribe {
        /// Its name from now on.
        id: TranscriptionId,
        /// What was heard.
        audio: Arc<[f32]>,
        /// The speaker may not have finished: the result may be thrown away, or become the
        /// turn's transcript.
        interim: bool,
        /// The spoken language, where the client named it (ISO 639-1).
        language: Option<String>,
    },
    /// Forget a transcription; no more events of it.
    CancelTranscription {
        /// What to forget.
        id: TranscriptionId,
    },
    /// Answer. If that cannot begin: [`ReplyEvent::Failed`].
    ///
    /// [`ReplyEvent::Failed`]: super::ReplyEvent::Failed
    Reply {
        /// Its name from now on.
        id: ReplyId,
        /// What to answer and how.
        request: Box<Request>,
    },
    /// A speculative reply is wanted after all; it has the priority of any other now.
    CommitReply {
        /// Which one.
        id: ReplyId,
    },
    /// Stop at once and forget it; no more events of it.
    CancelReply {
        /// What to forget.
        id: ReplyId,
    },
    /// The client wants to go on with an earlier session that has lost its connection. Find it
    /// by its token, call its [`Session::resume`](super::Session::resume) and drive it instead
    /// of this one; where there is none, tell [`Event::ResumeFailed`](super::Event::ResumeFailed).
    Resume {
        /// What `session.created` of that session gave.
        token: String,
        /// The number of the last event that the client has received.
        last_seq: u64,
    },
}

/// What a reply is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The conversation, the instructions first.
    pub messages: Vec<Message>,
    /// The functions that the model may call.
    pub tools: Vec<Tool>,
    /// Whether it may, must, or must not call one.
    pub tool_choice: ToolChoice,
    /// The name of the voice; `None` for a model without names.
    pub voice: Option<String>,
    /// Speaking rate, 0.25 to 1.5; 1 is the voice's own.
    pub speed: f32,
    /// The most tokens to write; `None` leaves it to the server.
    pub max_tokens: Option<u32>,
    /// Whether audio (with its words) is wanted; text always is.
    pub audio: bool,
    /// The user may not have finished: nothing of it is heard before [`Command::CommitReply`].
    pub speculative: bool,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What was said.
    pub text: String,
    /// The calls that an assistant's message makes.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
}

/// Who speaks in a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The one who instructs.
    System,
    /// The one who talks to us.
    User,
    /// The model.
    Assistant,
    /// What a function gave back.
    Tool,
}

impl Role {
    /// The name on the wire, as templates know it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A call of a function by the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The call's own name.
    pub id: String,
    /// The function's name.
    pub name: String,
    /// What it is called with: JSON, as text.
    pub arguments: String,
}

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// Whether a reply calls functions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Function(String),
}
