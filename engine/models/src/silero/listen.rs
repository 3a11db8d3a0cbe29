//! The node: frames in, probabilities out.

use std::{sync::Arc, time::Duration};

use kernels::Pool;
use runtime::{Cause, Member, Payload, RequestInfo, State, Submodule};
use tensor::Tensor;

use super::network::{FRAME, Memory, Network, Scratch};

/// Listeners of one step: it then takes some milliseconds, and their buffers a few hundred
/// kilobytes.
const MAX_BATCH: usize = 32;

/// Says for each frame whether someone speaks in it.
pub(super) struct Listen {
    network: Arc<Network>,
    pool: Pool,
    scratch: Scratch,
}

impl Listen {
    pub(super) fn new(network: Arc<Network>) -> Self {
        Self {
            network,
            // A frame costs less than it takes to wake another thread.
            pool: Pool::new(1),
            scratch: Scratch::default(),
        }
    }

    /// The next frame of each member.
    fn round(&mut self, batch: &mut [Member<'_>], index: usize) -> usize {
        // A payload is cheap to clone, and the memory is borrowed from the member, too.
        let frames: Vec<Option<Payload>> = batch
            .iter()
            .map(|member| member.input("frames").get(index).cloned())
            .collect();
        let (mut listeners, mut places, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        for (place, (member, frame)) in batch.iter_mut().zip(&frames).enumerate() {
            let Some(frame) = frame else { continue };
            count += 1;
            match samples(frame).and_then(|frame| Ok((member.state::<Memory>()?, frame))) {
                Ok(listener) => {
                    listeners.push(listener);
                    places.push(place);
                }
                Err(cause) => problems.push((place, cause)),
            }
        }
        let mut probabilities = Vec::new();
        self.network.hear(
            &self.pool,
            &mut self.scratch,
            &mut listeners,
            &mut probabilities,
        );
        drop(listeners);
        for (place, probability) in places.into_iter().zip(probabilities) {
            match Tensor::f32([1], vec![probability]) {
                Ok(probability) => batch[place].put("speech", probability),
                Err(error) => batch[place].fail(Cause::failed(&error)),
            }
        }
        for (place, cause) in problems {
            batch[place].fail(cause);
        }
        count
    }
}

/// The samples of a frame.
fn samples(frame: &Payload) -> Result<&[f32; FRAME], Cause> {
    let wrong = |problem: String| Cause::Failed(format!("a frame of audio {problem}"));
    let tensor = frame.as_tensor();
    let tensor = tensor.ok_or_else(|| wrong("is no tensor".into()))?;
    let samples = tensor.as_f32().map_err(|error| Cause::failed(&error))?;
    let frame: &[f32; FRAME] = samples
        .try_into()
        .map_err(|_| wrong(format!("has {} samples, expected {FRAME}", samples.len())))?;
    // One such sample would stay in the memory for ever.
    if frame.iter().all(|sample| sample.is_finite()) {
        Ok(frame)
    } else {
        Err(wrong("has samples that are no finite numbers".into()))
    }
}

impl Submodule for Listen {
    fn max_batch(&self) -> usize {
        MAX_BATCH
    }

    /// At once: turns and interruptions hang on it, and it costs a fraction of a millisecond.
    fn due_within(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Memory::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        let mut index = 0;
        while self.round(batch, index) > 0 {
            index += 1;
        }
    }
}
