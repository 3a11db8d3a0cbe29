//! Each way in which a declaration can be unsound, and what its finding names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

use graph::stream::{ChunkPolicy, Config};
use graph::{
    Call, ConnectionSpec, Destination, Edge, Element, EngineKind, Graph, GraphBuilder, Kind,
    LoopSpec, Modality, NodeSpec, PartitionSpec, PortType, Section,
};

/// Three nodes; `encoder` and `decoder` of anything, `reader` of text.
fn nodes() -> GraphBuilder {
    let any = PortType::any;
    let node = |name| NodeSpec::new(name, EngineKind::Stateless);
    Graph::builder("broken")
        .node(
            node("encoder")
                .input("pixels", any())
                .output("latents", any()),
        )
        .node(
            node("decoder")
                .input("latents", any())
                .output("image", any()),
        )
        .node(
            node("reader")
                .input("text", PortType::of(Kind::Text))
                .output("tokens", PortType::of(Kind::Tokens).element(Element::I64)),
        )
}

fn walk(section: impl Into<Section>) -> GraphBuilder {
    nodes().walk("main", section)
}

fn encoder() -> Call {
    Call::new("encoder")
}

fn decoder() -> Call {
    Call::new("decoder")
}

fn sequence(first: impl Into<Section>, second: impl Into<Section>) -> Section {
    Section::Sequence(vec![first.into(), second.into()])
}

fn fixed(chunk: usize) -> Config {
    Config::new(ChunkPolicy::Fixed { chunk })
}

/// `encoder` streams to `decoder` in another partition, by this connection.
fn streams(connection: ConnectionSpec) -> GraphBuilder {
    walk(encoder().stream("latents", "decoder", "latents"))
        .walk("other", decoder())
        .partition(PartitionSpec::new("front", ["main"]))
        .partition(PartitionSpec::new("back", ["other"]))
        .connection(connection)
}

fn front_to_back(config: Config) -> ConnectionSpec {
    ConnectionSpec::new("front", "back", "decoder", "latents", config)
}

fn refused(builder: GraphBuilder) -> Vec<String> {
    let findings = builder.build().err().map(|findings| {
        let lines = findings.iter().map(ToString::to_string);
        lines.collect()
    });
    findings.unwrap_or_default()
}

#[track_caller]
fn check(builder: GraphBuilder, expected: &[&str]) {
    assert_eq!(refused(builder), expected);
}

#[test]
fn a_sound_declaration_has_no_finding() {
    check(walk(encoder().emit("latents", Modality::Image)), &[]);
    check(streams(front_to_back(fixed(4))), &[]);
}

#[test]
fn a_wrong_name_is_told_with_the_nearest() {
    check(
        walk(Call::new("encodr")),
        &["walk `main`: `encodr`: no node has the name `encodr` (did you mean `encoder`?)"],
    );
    check(
        walk(encoder().to("latents", "decodr", "latents")),
        &["walk `main`: `decodr.latents`: no node has the name `decodr` (did you mean `decoder`?)"],
    );
    check(
        walk(encoder().takes(["pixel"])),
        &["walk `main`: `encoder.pixel`: the node has no input `pixel` (did you mean `pixels`?)"],
    );
    check(
        walk(encoder().emit("latent", Modality::Tensor)),
        &[
            "walk `main`: `encoder.latent`: the node has no output `latent` (did you mean `latents`?)",
        ],
    );
    check(
        walk(encoder()).partition(PartitionSpec::new("all", ["mian", "main"])),
        &["`all`: no walk has the name `mian` (did you mean `main`?)"],
    );
    check(
        streams(ConnectionSpec::new(
            "front",
            "bock",
            "decoder",
            "latents",
            fixed(1),
        )),
        &[
            "`decoder.latents`: no partition has the name `bock` (did you mean `back`?)",
            "walk `main`: `encoder.latents`: streams to `decoder.latents`, but no connection leads \
             there from partition `front`",
        ],
    );
    check(
        walk(
            LoopSpec::new("steps", 2, encoder().gives("latents"))
                .output(Edge::emit("latnets", Modality::Tensor))
                .bounded(),
        ),
        &[
            "walk `main`: `steps.latnets`: nothing directly in the loop's body gives `latnets` \
           (did you mean `latents`?)",
        ],
    );
    check(
        walk(encoder()).partition(PartitionSpec::new("all", ["main"]).initial("mein")),
        &[
            "`all`: the partition starts with `mein`, which is not one of its walks \
           (did you mean `main`?)",
        ],
    );
    check(
        walk(sequence(
            encoder().to("latents", "decoder", "latent"),
            decoder(),
        )),
        &[
            "walk `main`: `decoder.latent`: an edge from `encoder.latents` ends here, but the node \
           does not take this input (did you mean `latents`?)",
        ],
    );
    check(
        walk(encoder().to("latents", "decoder", "latents")),
        &[
            "walk `main`: `decoder.latents`: an edge from `encoder.latents` ends here, but this \
           walk does not run the node",
        ],
    );
}

#[test]
fn a_name_stands_for_one_thing() {
    check(
        walk(encoder()).walk("main", decoder()),
        &["two walks have the name `main`"],
    );
    check(
        walk(encoder()).node(NodeSpec::new("encoder", EngineKind::Kv)),
        &["two nodes have the name `encoder`"],
    );
    check(
        walk(encoder().takes(["pixels", "pixels"])),
        &["walk `main`: `encoder`: two inputs have the name `pixels`"],
    );
    check(
        walk(sequence(encoder(), encoder())),
        &["walk `main`: `encoder`: the walk runs this node twice; use a loop, or two nodes"],
    );
    let steps = |call: Call| LoopSpec::new("steps", 2, call).bounded();
    check(
        walk(sequence(steps(encoder()), steps(decoder()))),
        &["walk `main`: two loops have the name `steps`"],
    );
    check(
        streams(front_to_back(fixed(1))).connection(front_to_back(fixed(2))),
        &["`decoder.latents`: two connections have the name `latents`"],
    );
    check(
        walk(encoder()).partition(PartitionSpec::new("requester", ["main"])),
        &["two partitions have the name `requester`"],
    );
}

#[test]
fn every_walk_belongs_to_one_partition() {
    check(nodes(), &["the graph has no walk"]);
    check(
        walk(encoder()).partition(PartitionSpec::new("all", ["main", "main"])),
        &["`all`: two walks have the name `main`"],
    );
    check(
        walk(encoder())
            .walk("lost", decoder())
            .partition(PartitionSpec::new("all", ["main"])),
        &["walk `lost`: no partition runs this walk"],
    );
    check(
        walk(encoder())
            .partition(PartitionSpec::new("one", ["main"]))
            .partition(PartitionSpec::new("two", ["main"])),
        &["walk `main`: both `one` and `two` run this walk; a walk belongs to one partition"],
    );
}

#[test]
fn both_ends_of_an_edge_agree() {
    let taker = NodeSpec::new("taker", EngineKind::Stateless)
        .input("tokens", PortType::of(Kind::Tokens).element(Element::I32));
    check(
        walk(sequence(
            Call::new("reader").to("tokens", "taker", "tokens"),
            Call::new("taker"),
        ))
        .node(taker),
        &["walk `main`: `taker.tokens`: `reader.tokens` gives i64, but i32 is taken"],
    );
    check(
        walk(encoder().edge(Edge::new("latents", Destination::Emit(None)))),
        &[
            "walk `main`: `encoder.latents`: goes to the requester without a modality, and its kind \
           implies none",
        ],
    );
}

#[test]
fn a_loop_is_entered_and_left_by_its_edges() {
    let steps = |max, body: Section| LoopSpec::new("steps", max, body);
    check(
        walk(steps(0, encoder().into()).bounded()),
        &["walk `main`: `steps`: a loop needs at least one iteration"],
    );
    check(
        walk(sequence(
            steps(2, encoder().to("latents", "decoder", "latents").into()).bounded(),
            decoder(),
        )),
        &[
            "walk `main`: `encoder`: the edge to `decoder` leaves loop `steps`; declare it as an \
           output of the loop",
        ],
    );
    check(
        walk(
            steps(2, encoder().gives("latents").into())
                .output(Edge::to("latents", "encoder", "pixels"))
                .bounded(),
        ),
        &["walk `main`: `steps`: the output `encoder` of the loop ends inside the loop's own body"],
    );
    check(
        walk(
            steps(2, encoder().gives("latents").into())
                .output(Edge::emit("latents", Modality::Tensor))
                .accumulate(Edge::emit("latents", Modality::Tensor))
                .bounded(),
        ),
        &[
            "walk `main`: `steps.latents`: the loop gives `latents` both as an output and \
           accumulated; choose one",
        ],
    );
    let twin = NodeSpec::new("twin", EngineKind::Stateless).output("latents", PortType::any());
    check(
        walk(
            steps(
                2,
                sequence(
                    encoder().gives("latents"),
                    Call::new("twin").gives("latents"),
                ),
            )
            .bounded(),
        )
        .node(twin.clone()),
        &[
            "walk `main`: `twin.latents`: `encoder` and `twin` of one loop body both give this \
           name; rename one",
        ],
    );
    check(
        walk(Section::sequence([
            encoder().to("latents", "decoder", "latents"),
            Call::new("twin").to("latents", "decoder", "latents"),
            decoder(),
        ]))
        .node(twin),
        &[
            "walk `main`: `decoder.latents`: both `encoder.latents` and `twin.latents` feed this \
           input",
        ],
    );
    check(
        walk(sequence(
            encoder().to("latents", "decoder", "latents"),
            decoder().to("image", "encoder", "pixels"),
        )),
        &["walk `main`: `encoder`: a cycle outside a loop: encoder -> decoder -> encoder"],
    );
}

#[test]
fn a_section_holds_a_node_and_is_not_too_deep() {
    check(
        walk(Section::Sequence(Vec::new())),
        &["walk `main`: a section without a node"],
    );
    let deep = (0..40).fold(Section::from(encoder()), |inner, _| {
        Section::Parallel(vec![inner])
    });
    check(
        walk(deep),
        &["walk `main`: sections are nested more than 32 deep"],
    );
}

#[test]
fn a_connection_joins_two_partitions_that_use_it() {
    check(
        streams(front_to_back(fixed(0))),
        &["`decoder.latents`: a fixed policy needs 1 <= chunk"],
    );
    check(
        streams(front_to_back(fixed(8).capacity(7))),
        &["`decoder.latents`: holds 7 items, but its policy may need 8 before a chunk leaves"],
    );
    let latents = NodeSpec::new("vocoder", EngineKind::Streaming)
        .input("latents", PortType::of(Kind::Latents));
    let boundary = Config::new(ChunkPolicy::Boundary {
        first_min: 1,
        min: 2,
        max: 3,
        max_wait: None,
    });
    check(
        nodes()
            .node(latents)
            .walk("main", Call::new("vocoder"))
            .partition(PartitionSpec::new("all", ["main"]))
            .connection(ConnectionSpec::from_requester(
                "all", "vocoder", "latents", boundary,
            )),
        &["`vocoder.latents`: a boundary policy cuts text, and this input takes latents"],
    );
    check(
        streams(ConnectionSpec::from_requester(
            "back",
            "decoder",
            "latents",
            fixed(1),
        )),
        &[
            "walk `main`: `encoder.latents`: streams to `decoder.latents`, but no connection leads \
           there from partition `front`",
        ],
    );
    check(
        walk(encoder())
            .walk("other", decoder())
            .partition(PartitionSpec::new("front", ["main"]))
            .partition(PartitionSpec::new("back", ["other"]))
            .connection(front_to_back(fixed(1))),
        &["`decoder.latents`: no edge of partition `front` feeds this connection"],
    );
    check(
        walk(encoder().stream("latents", "decoder", "latents"))
            .walk("other", decoder().takes([""; 0]))
            .partition(PartitionSpec::new("front", ["main"]))
            .partition(PartitionSpec::new("back", ["other"]))
            .connection(front_to_back(fixed(1))),
        &["`decoder.latents`: no walk of partition `back` takes this input"],
    );
    check(
        walk(sequence(
            encoder().stream("latents", "decoder", "latents"),
            decoder(),
        ))
        .partition(PartitionSpec::new("all", ["main"]))
        .connection(ConnectionSpec::new(
            "all",
            "all",
            "decoder",
            "latents",
            fixed(1),
        )),
        &["`decoder.latents`: a connection joins two partitions; inside one, a plain edge does"],
    );
    check(
        walk(sequence(
            encoder().to("latents", "decoder", "latents"),
            decoder(),
        ))
        .partition(PartitionSpec::new("all", ["main"]))
        .connection(ConnectionSpec::from_requester(
            "all",
            "decoder",
            "latents",
            fixed(1),
        )),
        &[
            "walk `main`: `decoder.latents`: `encoder.latents` feeds this input, which takes a \
           stream",
        ],
    );
}

#[test]
fn all_findings_come_at_once() {
    let findings = refused(walk(sequence(
        Call::new("encodr"),
        decoder().takes(["latnets"]).emit("imag", Modality::Image),
    )));
    assert_eq!(findings.len(), 3, "{findings:#?}");
}
