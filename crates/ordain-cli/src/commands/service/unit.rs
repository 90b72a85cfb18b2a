//! The systemd unit.

use crate::service::{ACCOUNT, SOCKET, STATE_BASE};
use std::path::Path;

/// Where it is.
pub(super) const PATH: &str = crate::service::UNIT;

/// The part of a unit besides the hardening.
pub(super) struct Unit<'a> {
    pub(super) binary: &'a Path,
    pub(super) gate: &'a str,
    /// The user who may claim the gate.
    pub(super) owner: &'a str,
}

impl Unit<'_> {
    pub(super) fn text(&self) -> String {
        let Self { binary, gate, owner } = self;
        let binary = binary.display();
        format!(
            "\
# Written by `ordain service install`, which writes it anew.
[Unit]
Description=The ordain gate of this machine
After=local-fs.target

[Service]
Type=exec
ExecStart={binary} serve --gate {gate} --listen unix:{SOCKET} --socket-group {ACCOUNT} --claimant {owner}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
Environment=XDG_STATE_HOME={STATE_BASE}
User={ACCOUNT}
Group={ACCOUNT}
StateDirectory={ACCOUNT}
StateDirectoryMode=0700
WorkingDirectory={STATE_BASE}/{ACCOUNT}
RuntimeDirectory={ACCOUNT}
RuntimeDirectoryMode=0755
{HARDENING}
[Install]
WantedBy=multi-user.target
"
        )
    }
}

/// The gate needs its state, its socket and the clock.
const HARDENING: &str = "\
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateNetwork=yes
ProtectProc=invisible
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitCORE=0
";
