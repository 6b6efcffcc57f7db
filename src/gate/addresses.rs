//! Which IP addresses lead to the public internet.
//!
//! The rows of IANA's special-purpose address registries as data (IPv4 and IPv6,
//! both as of 2025-10-09), read by longest prefix. No crate is used for it: the
//! ones that keep these rows lag behind the registries by years, and the standard
//! library's `is_global` is unstable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A row of a registry.
struct Block<A> {
    network: A,
    length: u32,
    /// "Globally Reachable"; where the registry says N/A, no.
    global: bool,
}

const fn v4(octets: [u8; 4], length: u32, global: bool) -> Block<Ipv4Addr> {
    Block { network: Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]), length, global }
}

const fn v6(head: [u16; 4], tail: [u16; 4], length: u32, global: bool) -> Block<Ipv6Addr> {
    let network = Ipv6Addr::new(head[0], head[1], head[2], head[3], tail[0], tail[1], tail[2], tail[3]);
    Block { network, length, global }
}

/// <https://www.iana.org/assignments/iana-ipv4-special-registry>, each row with
/// its allocation date; and multicast, which has a registry of its own.
const V4: &[Block<Ipv4Addr>] = &[
    v4([0, 0, 0, 0], 8, false),          // "this network", 1981-09
    v4([0, 0, 0, 0], 32, false),         // "this host on this network", 1981-09
    v4([10, 0, 0, 0], 8, false),         // private use, 1996-02
    v4([100, 64, 0, 0], 10, false),      // shared address space, 2012-04
    v4([127, 0, 0, 0], 8, false),        // loopback, 1981-09
    v4([169, 254, 0, 0], 16, false),     // link local, 2005-05
    v4([172, 16, 0, 0], 12, false),      // private use, 1996-02
    v4([192, 0, 0, 0], 24, false),       // IETF protocol assignments, 2010-01
    v4([192, 0, 0, 0], 29, false),       // IPv4 service continuity, 2011-06
    v4([192, 0, 0, 8], 32, false),       // IPv4 dummy address, 2015-03
    v4([192, 0, 0, 9], 32, true),        // Port Control Protocol anycast, 2015-10
    v4([192, 0, 0, 10], 32, true),       // TURN anycast, 2017-02
    v4([192, 0, 0, 170], 32, false),     // NAT64/DNS64 discovery, 2013-02
    v4([192, 0, 0, 171], 32, false),     // NAT64/DNS64 discovery, 2013-02
    v4([192, 0, 2, 0], 24, false),       // documentation (TEST-NET-1), 2010-01
    v4([192, 31, 196, 0], 24, true),     // AS112-v4, 2014-12
    v4([192, 52, 193, 0], 24, true),     // AMT, 2014-12
    v4([192, 88, 99, 0], 24, false),     // 6to4 relay anycast, 2001-06, ended 2015-03: N/A
    v4([192, 88, 99, 2], 32, false),     // 6a44 relay anycast, 2012-10
    v4([192, 168, 0, 0], 16, false),     // private use, 1996-02
    v4([192, 175, 48, 0], 24, true),     // direct delegation AS112, 1996-01
    v4([198, 18, 0, 0], 15, false),      // benchmarking, 1999-03
    v4([198, 51, 100, 0], 24, false),    // documentation (TEST-NET-2), 2010-01
    v4([203, 0, 113, 0], 24, false),     // documentation (TEST-NET-3), 2010-01
    v4([240, 0, 0, 0], 4, false),        // reserved, 1989-08
    v4([255, 255, 255, 255], 32, false), // limited broadcast, 1984-10
    v4([224, 0, 0, 0], 4, false),        // multicast
];

const NONE: [u16; 4] = [0; 4];

/// <https://www.iana.org/assignments/iana-ipv6-special-registry>, each row with
/// its allocation date. Outside of `2000::/3` nothing is global unicast.
const V6: &[Block<Ipv6Addr>] = &[
    v6(NONE, [0, 0, 0, 1], 128, false),             // loopback, 2006-02
    v6(NONE, NONE, 128, false),                     // unspecified, 2006-02
    v6(NONE, [0, 0xffff, 0, 0], 96, false),         // IPv4-mapped, 2006-02
    v6([0x64, 0xff9b, 0, 0], NONE, 96, true),       // IPv4-IPv6 translation, 2010-10
    v6([0x64, 0xff9b, 1, 0], NONE, 48, false),      // local translation, 2017-06
    v6([0x100, 0, 0, 0], NONE, 64, false),          // discard only, 2012-06
    v6([0x100, 0, 0, 1], NONE, 64, false),          // dummy prefix, 2025-04
    v6([0x2001, 0, 0, 0], NONE, 23, false),         // IETF protocol assignments, 2000-09
    v6([0x2001, 0, 0, 0], NONE, 32, false),         // Teredo, 2006-01: N/A
    v6([0x2001, 1, 0, 0], [0, 0, 0, 1], 128, true), // Port Control Protocol anycast, 2015-10
    v6([0x2001, 1, 0, 0], [0, 0, 0, 2], 128, true), // TURN anycast, 2017-02
    v6([0x2001, 1, 0, 0], [0, 0, 0, 3], 128, true), // DNS-SD registration anycast, 2024-04
    v6([0x2001, 2, 0, 0], NONE, 48, false),         // benchmarking, 2008-04
    v6([0x2001, 3, 0, 0], NONE, 32, true),          // AMT, 2014-12
    v6([0x2001, 4, 0x112, 0], NONE, 48, true),      // AS112-v6, 2014-12
    v6([0x2001, 0x10, 0, 0], NONE, 28, false),      // ORCHID, 2007-03, ended 2014-03: N/A
    v6([0x2001, 0x20, 0, 0], NONE, 28, true),       // ORCHIDv2, 2014-07
    v6([0x2001, 0x30, 0, 0], NONE, 28, true),       // drone remote identification, 2022-12
    v6([0x2001, 0xdb8, 0, 0], NONE, 32, false),     // documentation, 2004-07
    v6([0x2002, 0, 0, 0], NONE, 16, false),         // 6to4, 2001-02: N/A
    v6([0x2620, 0x4f, 0x8000, 0], NONE, 48, true),  // direct delegation AS112, 2011-05
    v6([0x3fff, 0, 0, 0], NONE, 20, false),         // documentation, 2024-07
    v6([0x5f00, 0, 0, 0], NONE, 16, false),         // segment routing, 2024-04
    v6([0xfc00, 0, 0, 0], NONE, 7, false),          // unique local, 2005-10
    v6([0xfe80, 0, 0, 0], NONE, 10, false),         // link local, 2006-02
];

/// Whether an address is globally reachable. One that carries an IPv4 address to
/// somebody who forwards to it (mapped, NAT64, 6to4, Teredo, ISATAP) is as far as
/// that one is.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match carried(address) {
            Some(inner) => inner.into_iter().flatten().all(is_public_v4),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = |address: Ipv4Addr| u128::from(address.to_bits());
    longest(V4, |block| (bits(block.network), 32), bits(address)).unwrap_or(true)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_unicast = address.segments()[0] & 0xe000 == 0x2000;
    longest(V6, |block| (block.network.to_bits(), 128), address.to_bits()).unwrap_or(is_unicast)
}

/// What the longest row that covers the address says.
fn longest<A>(rows: &[Block<A>], of: impl Fn(&Block<A>) -> (u128, u32), address: u128) -> Option<bool> {
    let covers = |row: &&Block<A>| {
        let (network, width) = of(row);
        (network ^ address).checked_shr(width - row.length).is_none_or(|rest| rest == 0)
    };
    rows.iter().filter(covers).max_by_key(|row| row.length).map(|row| row.global)
}

/// The IPv4 addresses that an IPv6 address carries, where it is of a kind that
/// does. An IPv4-compatible address (`::/96`) is of no kind any more, and where
/// one stands in `64:ff9b:1::/48` is known to the network alone: both are refused
/// as what they are.
fn carried(address: Ipv6Addr) -> Option<[Option<Ipv4Addr>; 2]> {
    let at = |index: usize| {
        let segments = address.segments();
        Ipv4Addr::from_bits((u32::from(segments[index]) << 16) | u32::from(segments[index + 1]))
    };
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => [Some(at(6)), None],
        [0x2002, ..] => [Some(at(1)), None],
        // The server, and the client with every bit turned.
        [0x2001, 0, ..] => [Some(at(2)), Some(Ipv4Addr::from_bits(!at(6).to_bits()))],
        [.., 0 | 0x200, 0x5efe, _, _] if is_public_v6(address) => [Some(at(6)), None],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    /// Both ends of every row are what the row says, unless a longer row has them.
    #[test]
    fn every_row_of_the_registries_holds() {
        for row in V4 {
            let first = row.network.to_bits();
            let last = first | u32::MAX.checked_shr(row.length).unwrap_or(0);
            assert_eq!(first & last, first);
            for end in [first, last] {
                let inner = |other: &&Block<Ipv4Addr>| {
                    other.length > row.length
                        && (other.network.to_bits() ^ end).checked_shr(32 - other.length) == Some(0)
                };
                let global =
                    V4.iter().filter(inner).max_by_key(|other| other.length).map_or(row.global, |row| row.global);
                assert_eq!(is_public_v4(Ipv4Addr::from_bits(end)), global, "{}/{}", row.network, row.length);
            }
        }
        for row in V6 {
            let first = row.network.to_bits();
            let last = first | u128::MAX.checked_shr(row.length).unwrap_or(0);
            assert_eq!(first & last, first);
            for end in [first, last] {
                let inner = |other: &&Block<Ipv6Addr>| {
                    other.length > row.length
                        && (other.network.to_bits() ^ end).checked_shr(128 - other.length) == Some(0)
                };
                let global =
                    V6.iter().filter(inner).max_by_key(|other| other.length).map_or(row.global, |row| row.global);
                assert_eq!(is_public_v6(Ipv6Addr::from_bits(end)), global, "{}/{}", row.network, row.length);
            }
        }
    }

    /// The neighbours of the blocks that matter most.
    #[test]
    fn just_outside_of_a_block_is_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::",
            "2001:db7:ffff::1",
            "2001:db9::",
            "2003::1",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(public(address), "{address}");
        }
        for address in [
            "224.0.0.1",
            "239.255.255.255",
            "::2",
            "::8.8.8.8",
            "1::1",
            "4000::1",
            "fec0::1",
            "ff0e::1",
            "fdff::1",
            "febf::1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn carried_addresses_decide() {
        for (address, is) in [
            ("::ffff:192.31.196.7", true),
            ("::ffff:127.0.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::192.31.196.7", true),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("64:ff9b:1::192.31.196.7", false),
            ("64:ff9b:1::10.0.0.1", false),
            ("2002:c01f:c407::1", true),
            ("2002:7f00:1::1", false),
            ("2002:a9fe:a9fe::", false),
            // Teredo: server 192.31.196.7, client 192.31.196.9 and 10.0.0.1.
            ("2001:0:c01f:c407:0:0:3fe0:3bf6", true),
            ("2001:0:c01f:c407:0:0:f5ff:fffe", false),
            ("2001:0:a00:1:0:0:3fe0:3bf6", false),
            ("2620:4f:8000::5efe:10.0.0.1", false),
            ("2620:4f:8000::5efe:192.31.196.7", true),
            ("fe80::5efe:192.31.196.7", false),
        ] {
            assert_eq!(public(address), is, "{address}");
        }
    }
}
