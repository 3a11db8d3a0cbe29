//! Calls between our peer and one as a browser has it, over UDP on loopback.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use codecs::packet::FRAME;
use server::config;
use server::rtc::{Calls, Peer, PeerEvent, Reason};
use tokio::time::Instant;

use crate::caller::{Audio, Caller, frequency};
use crate::harness::PATIENCE;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn calls(change: impl FnOnce(&mut config::Rtc)) -> Calls {
    let mut config = config::Rtc::default();
    change(&mut config);
    Calls::new(&config, HERE)
}

async fn call(calls: &Calls, audio: Audio) -> (Caller, Peer) {
    let (mut caller, offer) = Caller::new(audio).await;
    let (peer, answer) = calls.answer(&offer).await.unwrap();
    caller.accept(&answer).await;
    (caller, peer)
}

async fn next(peer: &mut Peer) -> PeerEvent {
    tokio::time::timeout(PATIENCE, peer.recv())
        .await
        .expect("an event in time")
}

/// Plays a tone while it listens, until `enough` says so; gives what was heard.
async fn drive(
    peer: &mut Peer,
    hz: f32,
    mut enough: impl FnMut(&Peer, &[f32]) -> bool,
) -> Vec<f32> {
    let (mut phase, mut heard) = (0.0_f32, Vec::new());
    while !enough(peer, &heard) {
        match next(peer).await {
            PeerEvent::Due => {
                let frame = [0.0; FRAME].map(|_: f32| {
                    phase = (phase + std::f32::consts::TAU * hz / 24_000.0) % std::f32::consts::TAU;
                    0.5 * phase.sin()
                });
                peer.send_audio(Some(&frame)).await;
            }
            PeerEvent::Audio(frame) => heard.extend_from_slice(&*frame),
            PeerEvent::Connected => {}
            other => panic!("{other:?}"),
        }
    }
    heard
}

/// Says a tone for `frames` of 20 ms, in step with the clock.
fn talk(mut caller: Caller, hz: f32, frames: u32, lost: u32) -> tokio::task::JoinHandle<Caller> {
    tokio::spawn(async move {
        caller.connected().await;
        let begin = Instant::now();
        for n in 0..frames {
            tokio::time::sleep_until(begin + Duration::from_millis(20) * n).await;
            caller.say(hz, n == lost).await;
        }
        caller
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tone_passes_in_both_directions_at_once() {
    let calls = calls(|_| {});
    let (caller, mut peer) = call(&calls, Audio::Both).await;
    assert!(peer.is_heard());
    let talking = talk(caller, 1_000.0, 150, u32::MAX);
    let heard = drive(&mut peer, 700.0, |_, heard| heard.len() >= 140 * FRAME).await;
    let there = frequency(&heard[20 * FRAME..]);
    assert!((there - 1_000.0).abs() < 2.0, "{there} Hz");
    let caller = talking.await.unwrap();
    let heard = caller.heard();
    assert!(heard.len() > 100 * FRAME, "{}", heard.len());
    let back = frequency(&heard[20 * FRAME..]);
    assert!((back - 700.0).abs() < 2.0, "{back} Hz");
    let stats = peer.stats();
    assert_eq!((stats.received.lost, stats.dropped), (0, 0));
    assert!(stats.sent_packets > 100, "{stats:?}");
    caller.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_packet_nothing_is_held_back() {
    let calls = calls(|_| {});
    let (caller, mut peer) = call(&calls, Audio::Both).await;
    let talking = talk(caller, 1_000.0, 100, 50);
    let (mut deep, mut longest) = (None, Duration::ZERO);
    let heard = drive(&mut peer, 700.0, |peer, heard| {
        match (peer.stats().depth, deep) {
            (0, Some(since)) => {
                longest = longest.max(Instant::now() - since);
                deep = None;
            }
            (1.., None) => deep = Some(Instant::now()),
            _ => {}
        }
        heard.len() >= 95 * FRAME
    })
    .await;
    assert_eq!(peer.stats().received.lost, 1, "{peer:?}");
    assert!(longest < Duration::from_millis(200), "{longest:?}");
    let hz = frequency(&heard[20 * FRAME..]);
    assert!((hz - 1_000.0).abs() < 2.0, "{hz} Hz");
    talking.await.unwrap().hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_pass_in_order_in_both_directions_and_a_hang_up_is_noticed() {
    let calls = calls(|_| {});
    let (mut caller, mut peer) = call(&calls, Audio::None).await;
    assert!(peer.texts().send("before it is open".into()));
    assert_eq!(next(&mut peer).await, PeerEvent::Connected);
    assert_eq!(caller.read().await, "before it is open");
    for n in 0..50 {
        caller.write(&format!("{{\"n\": {n}}}")).await;
    }
    let mut read = 0;
    while read < 50 {
        match next(&mut peer).await {
            PeerEvent::Text(text) => {
                assert_eq!(text, format!("{{\"n\": {read}}}"));
                peer.texts().ready().await;
                assert!(peer.texts().send(text));
                read += 1;
            }
            PeerEvent::Due => peer.send_audio(None).await,
            other => panic!("{other:?}"),
        }
    }
    for n in 0..50 {
        assert_eq!(caller.read().await, format!("{{\"n\": {n}}}"));
    }
    assert_eq!(calls.active(), 1);
    caller.hang_up().await;
    let hung_up = Instant::now();
    loop {
        match tokio::time::timeout(Duration::from_secs(30), peer.recv()).await {
            Ok(PeerEvent::Closed(reason)) => {
                assert!(matches!(reason, Reason::HungUp | Reason::Vanished));
                break;
            }
            Ok(_) => {}
            Err(_) => panic!("not noticed within {:?}", hung_up.elapsed()),
        }
    }
    peer.close().await;
    assert_eq!(calls.active(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_hears_or_only_speaks_is_answered_so() {
    let calls = calls(|_| {});
    for (audio, heard, line) in [
        (Audio::HearOnly, true, "a=sendonly"),
        (Audio::SpeakOnly, false, "a=recvonly"),
        (Audio::Inactive, false, "a=inactive"),
    ] {
        let (mut caller, offer) = Caller::new(audio).await;
        let (mut peer, answer) = calls.answer(&offer).await.unwrap();
        assert_eq!(peer.is_heard(), heard, "{audio:?}");
        assert!(answer.contains(line), "{audio:?}: {answer}");
        if audio == Audio::Inactive {
            // The caller's side of the crate makes no connection of such a section.
            continue;
        }
        caller.accept(&answer).await;
        assert_eq!(next(&mut peer).await, PeerEvent::Connected, "{audio:?}");
        caller.hang_up().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_muted_from_the_start_hears_and_says_nothing() {
    let calls = calls(|_| {});
    let (caller, mut peer) = call(&calls, Audio::Both).await;
    let heard = drive(&mut peer, 700.0, |_, _| caller.heard().len() >= 50 * FRAME).await;
    assert!(heard.is_empty(), "{}", heard.len());
    assert_eq!(peer.stats().received.packets, 0);
    let hz = frequency(&caller.heard()[20 * FRAME..]);
    assert!((hz - 700.0).abs() < 2.0, "{hz} Hz");
    caller.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_has_our_ports_and_the_public_address() {
    let calls = calls(|config| {
        config.ports = [47_400, 47_410];
        config.public_address = Some("203.0.113.9".parse().unwrap());
    });
    let (_caller, offer) = Caller::new(Audio::Both).await;
    let (_peer, answer) = calls.answer(&offer).await.unwrap();
    let mut candidates = answer
        .lines()
        .filter_map(|line| line.strip_prefix("a=candidate:"));
    let first = candidates.next().unwrap();
    assert!(first.contains(" 203.0.113.9 474"), "{first}");
    let second = candidates.next().unwrap();
    assert!(second.contains(" 127.0.0.1 474"), "{second}");
    assert!(answer.contains("opus/48000/2"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_never_comes_is_given_up_and_says_why() {
    let calls = calls(|config| config.connect_seconds = 0.3);
    let (_caller, offer) = Caller::new(Audio::Both).await;
    let (mut peer, _) = calls.answer(&offer).await.unwrap();
    let event = next(&mut peer).await;
    assert_eq!(event, PeerEvent::Closed(Reason::Unreachable));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_and_a_bad_offer_are_refused_by_name() {
    let calls = calls(|config| config.max_peers = 1);
    let (_caller, offer) = Caller::new(Audio::Both).await;
    let first = calls.answer(&offer).await.unwrap();
    let refused = calls.answer(&offer).await.unwrap_err();
    assert_eq!(refused.code, "overloaded");
    drop(first);
    calls.answer(&offer).await.unwrap();
    for bad in [
        "",
        "v=0\r\n",
        "v=0\r\nm=audio nonsense",
        &offer[..offer.len() / 2],
    ] {
        if let Err(fault) = calls.answer(bad).await {
            assert!(
                matches!(fault.code, "invalid_offer" | "overloaded"),
                "{fault:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_port_is_refused_and_a_port_that_is_free_again_is_used() {
    let calls = calls(|config| config.ports = [47_420, 47_421]);
    let (_caller, offer) = Caller::new(Audio::Both).await;
    let first = calls.answer(&offer).await.unwrap();
    let _second = calls.answer(&offer).await.unwrap();
    let refused = calls.answer(&offer).await.unwrap_err();
    assert_eq!(refused.code, "overloaded");
    assert!(refused.message.contains("rtc.ports"), "{refused:?}");
    first.0.close().await;
    calls.answer(&offer).await.unwrap();
}

/// A runtime of one's own, whose tasks can be counted.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
}

async fn no_task_is_left() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let begin = Instant::now();
    while metrics.num_alive_tasks() > 0 {
        assert!(begin.elapsed() < PATIENCE, "{}", metrics.num_alive_tasks());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_call_leaves_nothing_behind_however_it_ends() {
    let (theirs, ours) = (runtime(), runtime());
    let calls = calls(|config| config.ports = [47_430, 47_430]);
    for closes in [true, false] {
        for connects in [true, false] {
            let (mut caller, offer) = theirs.block_on(Caller::new(Audio::Both));
            let (mut peer, answer) = ours.block_on(calls.answer(&offer)).unwrap();
            if connects {
                theirs.block_on(caller.accept(&answer));
                let heard = |_: &Peer, _: &[f32]| !caller.heard().is_empty();
                ours.block_on(drive(&mut peer, 700.0, heard));
            }
            ours.block_on(async {
                if closes {
                    peer.close().await;
                } else {
                    drop(peer);
                }
                no_task_is_left().await;
            });
        }
    }
    // It can be read, and not answered.
    let broken = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n";
    let refused = ours.block_on(calls.answer(broken)).unwrap_err();
    assert_eq!(refused.code, "invalid_offer");
    ours.block_on(no_task_is_left());
    assert_eq!(calls.active(), 0);
}

#[test]
fn who_vanishes_is_noticed_within_thirty_seconds_and_leaves_nothing_behind() {
    let (theirs, ours) = (runtime(), runtime());
    let calls = calls(|_| {});
    let (mut caller, offer) = theirs.block_on(Caller::new(Audio::Both));
    let (mut peer, answer) = ours.block_on(calls.answer(&offer)).unwrap();
    theirs.block_on(async {
        caller.accept(&answer).await;
        caller.connected().await;
    });
    theirs.shutdown_background();
    let noticed = ours.block_on(async {
        let closed = async {
            loop {
                if let PeerEvent::Closed(reason) = peer.recv().await {
                    return reason;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), closed).await
    });
    assert_eq!(noticed, Ok(Reason::Vanished));
    ours.block_on(async {
        drop(peer);
        no_task_is_left().await;
    });
}
