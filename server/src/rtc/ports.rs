//! Which UDP port a peer gets: one of a range that a firewall can open.

use std::collections::BTreeSet;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;

use parking_lot::Mutex;

/// A range of ports and which of them are taken.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    first: u16,
    last: u16,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug)]
struct Taken {
    ports: BTreeSet<u16>,
    next: u16,
}

/// A port of one's own; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    taken: Arc<Mutex<Taken>>,
}

impl Ports {
    /// The ports from `first` to `last`, both included.
    pub(super) fn new(first: u16, last: u16) -> Self {
        let taken = Taken {
            ports: BTreeSet::new(),
            next: first,
        };
        Self {
            first,
            last: last.max(first),
            taken: Arc::new(Mutex::new(taken)),
        }
    }

    /// The next port, in turn, that nobody has bound on these addresses.
    pub(super) fn take(&self, addresses: &[IpAddr]) -> Option<Port> {
        let mut taken = self.taken.lock();
        for _ in self.first..=self.last {
            let number = taken.next;
            taken.next = if number >= self.last {
                self.first
            } else {
                number + 1
            };
            if taken.ports.contains(&number) || !is_free(number, addresses) {
                continue;
            }
            taken.ports.insert(number);
            return Some(Port {
                number,
                taken: Arc::clone(&self.taken),
            });
        }
        None
    }
}

/// Others on this machine may have a port of the range. Whoever takes it after this look makes
/// the peer's own bind fail; then the next port is tried.
fn is_free(number: u16, addresses: &[IpAddr]) -> bool {
    let free = |address: &IpAddr| UdpSocket::bind((*address, number)).is_ok();
    addresses.iter().all(free)
}

impl Port {
    pub(super) fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.taken.lock().ports.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn ports_are_taken_in_turn_and_come_back() {
        let ports = Ports::new(47_310, 47_312);
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let foreign = UdpSocket::bind((here[0], 47_311)).unwrap();
        let (a, b) = (ports.take(&here).unwrap(), ports.take(&here).unwrap());
        assert_eq!((a.number(), b.number()), (47_310, 47_312));
        assert!(ports.take(&here).is_none());
        drop(a);
        assert_eq!(ports.take(&here).unwrap().number(), 47_310);
        drop(foreign);
        assert_eq!(ports.take(&here).unwrap().number(), 47_311);
    }
}
