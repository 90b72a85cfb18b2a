//! The programs that ordain knows, in one table.
//!
//! A row has a name (or several, with `|`; a subcommand after a blank), what the program always does, the options that
//! it may have, and what its operands are. **An option that is not listed makes the call opaque**, and so does a
//! program without a row. So a row lists an option only if somebody has made sure what it does.
//!
//! | always | means |
//! |---|---|
//! | `code` | runs code of the workspace |
//! | `git` | changes refs, index or stash of this repository |
//! | `push` | changes refs of another repository |
//! | `get:HOST` `send:HOST` | fetches from, sends to; without a host, its operands or options name it, else any host |
//! | `install:WHERE` `publish:WHERE` | packages |
//! | `process` `privilege` `opaque` | as [`EffectKind`](crate::EffectKind) says |
//! | `see:NAME` | a function in `special.rs` looks at the call as well |
//! | `sub` | a subcommand follows, which has its own row |
//!
//! | option | means |
//! |---|---|
//! | `-abc` `--long` | without a value |
//! | `-o:` `--long:` | with a value, which does nothing |
//! | `-o:w` | with a value, which is an operand of this kind |
//! | `-i?` `--long?` | with a value only if it is attached |
//! | `-#` | digits, as in `head -5` |
//! | `-x!KIND` | has another effect besides: `-d:_!send` |
//! | `+` | words that begin with `+` are options |
//! | `*` | any other option does nothing that the row does not say |
//! | `%` | no option is dangerous, so an operand may be a pattern or unknown |
//! | `.` | operands may begin with `-` after the first one, as `$` does by itself |
//!
//! | operand | is |
//! |---|---|
//! | `_` | nothing |
//! | `r` `w` `d` | a path that is read, written, deleted |
//! | `b` | a path that is read and written |
//! | `c` | a file of code that runs |
//! | `h` `H` | a host or URL that is fetched from, sent to |
//! | `p` | a package |
//! | `$` | this and all that follow are a command |
//! | `x` | a text that the shell runs |
//! | `X` | a text that some other language runs |
//! | `f` | a format: begins with `+`, or the call is opaque |
//! | `r*` | any number of them; at most one per row |
//! | `r.` | as `r`, and this folder if there is none |

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub(crate) struct Program {
    pub(crate) names: &'static str,
    pub(crate) always: &'static str,
    pub(crate) options: &'static str,
    pub(crate) operands: &'static str,
}

const fn row(
    names: &'static str,
    always: &'static str,
    options: &'static str,
    operands: &'static str,
) -> Program {
    Program { names, always, options, operands }
}

/// The row of a program or subcommand.
pub(crate) fn program(name: &str) -> Option<&'static Program> {
    static INDEX: OnceLock<BTreeMap<&'static str, &'static Program>> = OnceLock::new();
    let names = |program: &'static Program| program.names.split('|').map(move |name| (name, program));
    INDEX.get_or_init(|| PROGRAMS.iter().flat_map(names).collect()).get(name).copied()
}

pub(crate) static PROGRAMS: &[Program] = &[
    // The shell's own.
    row(
        "true|false|:|pwd|wait|jobs|times|umask|ulimit|shopt|set|shift|return|exit|break|continue|unset|logout|fg|bg|disown",
        "see:shell",
        "* %",
        "_*",
    ),
    // `hash -p` gives a name to any program.
    row("hash", "", "-rldt", "_*"),
    row("echo", "", "* %", "_*"),
    row("printf", "see:names", "-v:_ %", "_*"),
    row("test|[", "see:test", "* %", "_*"),
    row("read|mapfile|readarray|getopts|let|declare|typeset|local|readonly|export", "see:names", "* %", "_*"),
    row("type", "", "-afpPt %", "_*"),
    row("eval", "see:eval", "* %", "_*"),
    row("exec", "see:exec", "-a: -cl", "$"),
    row("command", "see:command", "-pvV", "$"),
    row("builtin", "", "", "$"),
    row("source|.", "see:source", "", "c _*"),
    row("trap", "see:trap", "-lp", "_*"),
    row(
        "alias|unalias|enable|bind|complete|compgen|compopt|fc|history|suspend|caller|dirs",
        "see:alias",
        "",
        "_*",
    ),
    row("cd|pushd|popd", "see:cd", "-LPe", "_*"),
    row("kill", "process", "-s: -n: -l? * %", "_*"),
    // Programs that run others.
    row("env", "see:env", "-i -0 -v --ignore-environment -u: --unset: -C:_ --chdir:", "$"),
    row(
        "sudo|doas",
        "privilege see:env",
        "-AbEHKknPSiVv -u: -g: -h: -p: -C: -T: -D: --user: --group: --preserve-env? --login --non-interactive",
        "$",
    ),
    row("su|runuser|pkexec", "privilege opaque", "*", "_*"),
    row("nohup|setsid|chronic|unbuffer|ionice|chrt|taskset|catchsegv", "", "-cfw", "$"),
    row("nice", "", "-n: -# --adjustment:", "$"),
    row("stdbuf", "", "-i: -o: -e: --input: --output: --error:", "$"),
    row("timeout", "", "-s: -k: -v --signal: --kill-after: --preserve-status --foreground --verbose", "_ $"),
    row("time", "", "-p -v -f: -o:w -a --format: --output:w --append --verbose --portability", "$"),
    row(
        "watch",
        "see:text",
        "-n: -d -t -g -c -e -b --interval: --differences? --no-title --chgexit --color --errexit",
        "$",
    ),
    row(
        "xargs",
        "see:xargs",
        "-0rtpx -n: -P: -I: -L: -d: -s: -E: -a:r --null --no-run-if-empty --max-args: --max-procs: --verbose --replace? --max-lines? --delimiter: --arg-file:r",
        "$",
    ),
    row("parallel", "opaque", "*", "_*"),
    row("flock", "", "-senux -w:", "w $"),
    row("strace|ltrace|gdb|lldb|rr|valgrind|perf|bpftrace", "code opaque", "*", "_*"),
    row("chroot|unshare|nsenter|setpriv|capsh", "privilege opaque", "*", "_*"),
    row("script|screen|tmux|expect|socat|nc|ncat|netcat|telnet|busybox|toybox", "opaque", "*", "_*"),
    row("bash|sh|dash|zsh|ksh|ash|fish", "see:interpreter", "*", "_*"),
    row(
        "ssh",
        "see:ssh",
        "-46AaCfGgKkMNnqsTtVvXxYy -b: -c: -D: -e: -I: -i:_ -J: -L: -l: -m: -p: -R: -W: -w: -B:",
        "H $",
    ),
    row("scp|sftp", "see:scp", "-346BCpqrTv -c: -i:_ -J: -l: -P:", "_*"),
    row(
        "rsync",
        "see:rsync",
        "-vrlptgoDnahHAXxzPuciLKkSWRqIm0OJ -f: -B: -M: -T:_ --recursive --archive --verbose --quiet --checksum --update --links --copy-links --safe-links --hard-links --perms --owner --group --times --dry-run --size-only --exclude: --include: --exclude-from:r --include-from:r --files-from:r --compress --progress --partial --human-readable --stats --itemize-changes --inplace --existing --ignore-existing --chmod: --relative --whole-file --omit-dir-times --no-perms --no-owner --no-group --no-times --delete!del --delete-after!del --delete-before!del --delete-during!del --delete-excluded!del --remove-source-files!del --info: --filter: --bwlimit: --timeout: --max-size: --min-size: --prune-empty-dirs",
        "_*",
    ),
    // Looking at files.
    row(
        "cat|tac|nl|rev|fold|expand|unexpand|fmt|column|od|hexdump|strings|cksum|md5sum|sha1sum|sha256sum|sha512sum|b2sum|shasum|base32|wc|head|tail|nm|readelf|objdump|otool|size|addr2line|tokei|cloc|scc|loc|cut|paste|join|comm|tr|cmp|stat|file|readlink|realpath|basename|dirname|du|tree|exa|eza|bat|lsd",
        "see:reading",
        "* %",
        "r*",
    ),
    row("ls|dir|vdir|ll|la", "", "* %", "r."),
    row("base64", "", "-d -w: -i -D --decode --wrap: --ignore-garbage %", "r*"),
    row("xxd", "see:xxd", "-abdeiprsuCE -c: -g: -l: -o: -s: -n: -R:", "r w"),
    row("less|more|most", "see:pager", "-NSRFXiIeEMmnrsqQ -# ", "r*"),
    row("man|info|tldr|whatis|apropos|help", "", "-kfa", "_*"),
    row(
        "diff",
        "",
        "-abBceEiNqrstTuwydlpH -I: -x: -X:r -U: -C: -W: -L: -F: -# --brief --recursive --unified? --context? --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --new-file --text --color? --exclude: --exclude-from:r --label: --strip-trailing-cr --no-dereference --width: --suppress-common-lines --minimal --speed-large-files --report-identical-files %",
        "r*",
    ),
    row("colordiff|sdiff|diff3|diffstat|vimdiff", "", "-abiqruw", "r*"),
    row(
        "grep|egrep|fgrep|zgrep",
        "see:grep",
        "-acEFGHhiIlLnoPqrRsTUvVwxyzZ -A: -B: -C: -D: -d: -e:_ -f:r -m: -# --color? --colour? --include: --exclude: --exclude-dir: --exclude-from:r --recursive --dereference-recursive --line-number --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --only-matching --quiet --silent --no-messages --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp:_ --file:r --max-count: --with-filename --no-filename --null --null-data --text --binary-files: --after-context: --before-context: --context: --byte-offset --initial-tab --line-buffered --label: %",
        "_ r.",
    ),
    row(
        "rg|ag|ack",
        "see:grep",
        "-.aceEFHhIiLlNnoPpqSsTUuvwxz0 -A: -B: -C: -e:_ -f:r -g: -j: -M: -m: -r: -t: -T: -d: -E: --color: --colors: --column --count --count-matches --context: --after-context: --before-context: --case-sensitive --ignore-case --smart-case --files --files-with-matches --files-without-match --fixed-strings --follow --glob: --iglob: --heading --no-heading --hidden --json --line-number --no-line-number --max-count: --max-depth: --max-columns: --maxdepth: --multiline --multiline-dotall --no-ignore --no-ignore-vcs --no-filename --with-filename --no-messages --null --only-matching --passthru --pcre2 --pretty --quiet --regexp:_ --file:r --replace: --search-zip --sort: --sortr: --stats --text --threads: --trim --type: --type-not: --type-list --type-add: --unrestricted --vimgrep --word-regexp --invert-match --ignore-file:r --sort-files --version",
        "_ r.",
    ),
    row(
        "fd|fdfind",
        "see:fd",
        "-HIsgFaLpuil0q -d: -t: -e: -E: -j: -c: -S: -# --hidden --no-ignore --type: --extension: --exclude: --max-depth: --min-depth: --glob --full-path --absolute-path --follow --color: --size: --changed-within: --changed-before: --print0 --list-details -x:! -X:!",
        "_ r.",
    ),
    row("find", "see:find", "*", "_*"),
    row("locate|mlocate|plocate|which|whereis|command-not-found", "", "-abceilnpqrsSw -# ", "_*"),
    row(
        "sort",
        "",
        "-bdfghiMnRrVcCmsuz -k: -t: -S: -o:w -T:w --numeric-sort --reverse --unique --key: --field-separator: --human-numeric-sort --version-sort --ignore-case --output:w --stable --check? --zero-terminated --general-numeric-sort --random-sort --buffer-size: --parallel: --ignore-leading-blanks",
        "r*",
    ),
    row(
        "uniq",
        "",
        "-cdDiuz -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields: --all-repeated? --zero-terminated",
        "r w",
    ),
    row(
        "seq|factor|expr|numfmt|tsort|yes|nproc|arch|uname|whoami|id|groups|logname|users|who|w|uptime|tty|getconf|locale|cal|ncal|sum|clear|reset|tput|printenv|hostid|lscpu|lsblk|lsusb|lspci|free|vmstat|iostat|df|ps|top|htop|pgrep|pidof|pstree|lsof|netstat|getent|last|sw_vers|lsb_release|c++filt|figlet|cowsay|banner",
        "",
        "* %",
        "_*",
    ),
    row("shuf", "", "-n: -i: -er --head-count: --input-range: --echo --repeat", "_*"),
    row(
        "bc|hostname|mount|stty|ss|ip|ifconfig|dmesg|journalctl",
        "see:machine",
        "-abefghiIlmnoqrstTuwx -n: -u: -# --no-pager --since: --until: --unit:",
        "_*",
    ),
    row("ldd", "code", "*", "_*"),
    row(
        "date",
        "",
        "-uR -d: -r:r -I? -j -f: --date: --utc --universal --iso-8601? --rfc-3339: --rfc-email --reference:r +",
        "f",
    ),
    row("sleep|usleep", "", "", "_*"),
    row(
        "jq|gojq",
        "",
        "-acCehjMnrsSV -f:r -L:r --arg:2 --argjson:2 --slurpfile:2r --rawfile:2r --args --jsonargs --compact-output --raw-output --raw-input --exit-status --slurp --null-input --sort-keys --tab --indent: --from-file:r --color-output --monochrome-output --join-output --stream %",
        "_ r*",
    ),
    row(
        "yq|xq|tomlq|dasel|xmllint|xmlstarlet|htmlq|pup|mlr|csvkit|xsv",
        "see:yq",
        "-rPejcnCMsS -p: -o: --raw-output --prettyPrint --output-format: --input-format: --exit-status -i!edit --inplace!edit",
        "_ r*",
    ),
    row(
        "sed|gsed",
        "see:sed",
        "-nErsuz -e:_ -f:! -i? -l: --quiet --silent --regexp-extended --expression:_ --in-place? --separate --null-data --unbuffered --posix --debug --sandbox",
        "_ r*",
    ),
    row(
        "awk|gawk|mawk|nawk",
        "see:awk",
        "-F: -v:_ --field-separator: --assign:_ --posix --traditional --sandbox --lint",
        "_ r*",
    ),
    row("split|csplit", "", "-db -l: -b: -n: -a: -C:", "r w"),
    row(
        "iconv|dos2unix|unix2dos|recode|gettext|msgfmt|pandoc|asciidoctor|graphviz|dot",
        "",
        "-f: -t: -T: -o:w --from: --to: --output:w --standalone -s",
        "r*",
    ),
    row("tee|sponge", "", "-aip --append --ignore-interrupts %", "w*"),
    // Changing files.
    row("touch", "", "-acfhm -d: -r:r -t: --no-create --date: --reference:r --time: %", "w*"),
    row("mkdir|mkfifo|mknod", "", "-pv -m: --parents --verbose --mode: %", "w*"),
    row("truncate|fallocate", "", "-c -s: -l: -r:r --no-create --size: --reference:r", "w*"),
    row("mktemp", "see:mktemp", "-dqut -p: --directory --suffix: --tmpdir? --dry-run", "_*"),
    row(
        "chmod|chown|chgrp|setfacl|chattr|xattr|chflags",
        "",
        "-RcfvhHLPm --recursive --verbose --changes --silent --quiet --reference:r --no-preserve-root --preserve-root --from: +",
        "_ w*",
    ),
    row("rm|unlink|rmdir|shred|srm|trash|trash-put|gio-trash|rimraf|del-cli|del|wipe", "", "* %", "d*"),
    row(
        "cp",
        "see:into",
        "-abdfiHlLnPpRrsTuvx -S: -t:w --archive --recursive --force --interactive --no-clobber --parents --preserve? --no-preserve: --update? --verbose --target-directory:w --no-target-directory --dereference --no-dereference --link --symbolic-link --reflink? --sparse: --one-file-system --remove-destination --backup? --suffix:",
        "r* w",
    ),
    row(
        "cpx|cpx2|cpy|ncp|copyfiles|cpy-cli|copy|make-dir|mkdirp|cpr|copyup|move-cli|recursive-copy",
        "code",
        "*",
        "_*",
    ),
    row(
        "mv|ren|rename-file",
        "see:into",
        "-bfinTuv -S: -t:w --force --interactive --no-clobber --update? --verbose --target-directory:w --no-target-directory --backup? --suffix:",
        "m* w",
    ),
    row(
        "install",
        "see:into",
        "-bcCdDpsTv -g: -m: -o: -t:w --mode: --owner: --group: --directory --target-directory:w --compare",
        "r* w",
    ),
    row(
        "ln",
        "see:ln",
        "-bfinrsTvLP -t:w --symbolic --force --relative --no-dereference --verbose --target-directory:w",
        "_*",
    ),
    row("rename|prename|mmv|detox", "opaque", "*", "_*"),
    row("dd", "see:dd", "", "_*"),
    row(
        "patch",
        "see:patch",
        "-bEflNRstu -d:w -i:r -p: -o:w -r:w -B: -z: -F: --dry-run --strip: --input:r --reverse --forward --batch --silent --quiet --verbose --backup --directory:w --output:w",
        "w r",
    ),
    row("tar|bsdtar|gtar", "see:tar", "", "_*"),
    row("zip", "see:zip", "-rqj9u -x: -# --recurse-paths --quiet", "w r*"),
    row("unzip|unar", "see:unzip", "-lntoqpzj -x: -d:w -v", "r _*"),
    row(
        "gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd|lz4|compress|uncompress|brotli|pigz",
        "see:packer",
        "-kdflvqtc# -# -T: --keep --decompress --force --stdout --list --test --best --fast --quiet --verbose --threads: --rm",
        "b*",
    ),
    row("zcat|bzcat|xzcat|zstdcat|zless|zmore|zdiff|zcmp", "", "-f", "r*"),
    row(
        "ed|ex|vi|vim|nvim|emacs|nano|pico|micro|code|subl|idea|open|xdg-open|start|gedit|kate|hx|helix",
        "opaque",
        "*",
        "_*",
    ),
    row(
        "replace|replace-in-file|json|prettier-package-json|sort-package-json|syncpack|npm-package-json-lint",
        "code",
        "*",
        "_*",
    ),
    // Processes and the machine.
    row("pkill|killall|skill|xkill|renice|kill-port|fkill|fuser", "process", "* %", "_*"),
    row(
        "shutdown|reboot|halt|poweroff|init|telinit|systemctl|service|launchctl|rc-service|sc|update-rc.d|chkconfig|loginctl|hostnamectl|timedatectl|sysctl|modprobe|insmod|rmmod|swapon|swapoff|umount|fdisk|parted|mkfs|mkfs.ext4|mkswap|losetup|cryptsetup|lvcreate|iptables|nft|ufw|firewall-cmd|useradd|usermod|userdel|groupadd|adduser|deluser|addgroup|passwd|chpasswd|visudo|chsh|crontab|at|batch|anacron|setcap|setenforce|auditctl|update-alternatives|ldconfig|defaults|dscl|spctl|csrutil|security|keyctl|mount-image|udevadm",
        "privilege",
        "* %",
        "_*",
    ),
    // Network.
    row(
        "curl",
        "see:curl",
        "-sSfLkIvgiGNRJjaBlnpqZ46#0 -o:w -O!here -d:_!send -F:_!send -T:r!send -X:_ -H:_ -A: -b:_ -c:w -e: -m: -u:_ -w: -x:_ -r: -y: -Y: -z: -C: -D:w -E:_ --silent --show-error --fail --fail-with-body --location --insecure --head --verbose --include --get --compressed --progress-bar --retry: --retry-delay: --retry-connrefused --retry-max-time: --retry-all-errors --connect-timeout: --max-time: --output:w --output-dir:w --remote-name!here --remote-header-name --remote-name-all!here --create-dirs --data:_!send --data-raw:_!send --data-binary:_!send --data-urlencode:_!send --data-ascii:_!send --json:_!send --form:_!send --form-string:_!send --upload-file:r!send --request:_ --header:_ --user:_ --user-agent: --cookie:_ --cookie-jar:w --referer: --write-out: --proto: --tlsv1.2 --tlsv1.3 --http1.1 --http2 --url:h --cacert:r --dump-header:w --parallel --globoff --max-redirs: --noproxy: --resolve: --no-progress-meter --no-buffer --range: --limit-rate: --ssl-reqd",
        "_*",
    ),
    row(
        "wget",
        "see:wget",
        "-qvcNnrpkLHKEF -O:w -o:w -P:w -a:w -i:r -t: -T: -U: -l: -A: -R: -D: -nc -nd -nH -nv -np --quiet --output-document:w --directory-prefix:w --no-check-certificate --continue --tries: --timeout: --user-agent: --header:_ --recursive --level: --no-parent --no-verbose --show-progress --progress: --content-disposition --https-only --timestamping --mirror --convert-links --page-requisites --adjust-extension --no-clobber --no-host-directories --cut-dirs: --accept: --reject: --spider --post-data:_!send --post-file:r!send --body-data:_!send --body-file:r!send --method:_!send",
        "_*",
    ),
    row(
        "http|https|xh|xhs|httpie|aria2c|axel|lynx|w3m|links|elinks|grpcurl|websocat|wscat|ftp|lftp|tftp",
        "send",
        "*",
        "_*",
    ),
    row("ping|ping6|traceroute|tracepath|mtr|dig|nslookup|host|whois|nmap|arp|drill", "send", "*", "_*"),
    row("wait-on|wait-for-it|wait-port", "get", "*", "_*"),
    row(
        "aws|gcloud|gsutil|az|kubectl|oc|helm|helmfile|k9s|terraform|tofu|pulumi|ansible|ansible-playbook|vagrant|packer|nomad|vault|consul|heroku|flyctl|fly|vercel|netlify|wrangler|firebase|now|doctl|linode-cli|hcloud|cdk|sam|serverless|sls|eksctl|argocd|flux|istioctl|s3cmd|rclone|b2|mc|azcopy|supabase|railway|eas|fastlane|sentry-cli|stripe|twilio|slack|op|doppler|infisical|bw",
        "send",
        "* %",
        "_*",
    ),
    row("gh|glab|hub|tea", "see:gh", "*", "_*"),
    row(
        "psql|mysql|mariadb|sqlite3|mongosh|mongo|mongoimport|mongodump|redis-cli|clickhouse-client|duckdb|cqlsh|influx|mysqldump|pg_dump|pg_restore|createdb|dropdb|sqlcmd|usql|pgcli|litecli",
        "opaque",
        "*",
        "_*",
    ),
    row("mail|mailx|mutt|sendmail|msmtp|swaks|ntfy|notify-send|wall|write|say", "send", "*", "_*"),
    row(
        "docker|podman|nerdctl|buildah|skopeo|docker-compose|podman-compose|lima|limactl|colima|multipass|lxc|virsh|qemu-system-x86_64|kind|minikube|k3d",
        "see:docker",
        "*",
        "_*",
    ),
    row(
        "gpg|gpg2|openssl|ssh-keygen|ssh-add|ssh-agent|ssh-copy-id|ssh-keyscan|age|sops|cosign|pass|minisign|mkcert|keytool|step|certbot",
        "opaque",
        "*",
        "_*",
    ),
    // Git.
    row(
        "git",
        "sub see:git",
        "-C:_ -P --no-pager --git-dir:_ --work-tree:_ --bare --literal-pathspecs --no-optional-locks --version --no-replace-objects -c:_",
        "",
    ),
    row(
        "git status|git show-ref|git shortlog|git describe|git rev-parse|git rev-list|git ls-files|git ls-tree|git blame|git cat-file|git name-rev|git merge-base|git count-objects|git var|git check-ignore|git check-attr|git diff-tree|git diff-index|git diff-files|git whatchanged|git cherry|git reflog|git for-each-ref|git version|git help|git verify-commit|git verify-tag|git fsck|git symbolic-ref|git annotate|git range-diff|git merge-tree|git interpret-trailers|git show-branch|git stripspace|git column|git check-ref-format|git hash-object|git get-tar-commit-id",
        "see:gitread",
        "*",
        "_*",
    ),
    row("git log|git show|git diff|git stash-show", "see:gitread", "*", "_*"),
    row("git grep", "see:gitread", "*", "_*"),
    row(
        "git branch|git tag|git remote|git stash|git config|git worktree|git notes|git submodule|git bisect|git lfs|git sparse-checkout|git subtree",
        "see:gitadmin",
        "*",
        "_*",
    ),
    row(
        "git add|git rm|git mv|git reset|git checkout|git restore|git switch|git clean|git commit|git merge|git rebase|git cherry-pick|git revert|git am|git apply|git pull|git fetch|git clone|git init|git gc|git prune|git update-index|git update-ref|git read-tree|git write-tree|git commit-tree|git mktag|git mktree|git pack-refs|git repack|git replace|git filter-branch|git format-patch|git archive|git bundle|git stage|git maintenance|git rerere|git ls-remote|git mergetool|git difftool",
        "see:gitwrite",
        "*",
        "_*",
    ),
    row(
        "git push|git send-pack|git http-push|git send-email|git request-pull|git svn|git p4|git imap-send",
        "see:gitpush",
        "*",
        "_*",
    ),
    row("tig|gitk|lazygit|gitui|git-cliff|git-chglog", "opaque", "*", "_*"),
    row("jj|hg|svn|bzr|fossil|cvs|p4", "opaque", "*", "_*"),
    // Builds, tests and other code of the workspace. Whatever options they have: the code can do as much.
    row(
        "make|gmake|bmake|nmake|ninja|cmake|ctest|cpack|meson|bazel|bazelisk|buck|buck2|pants|scons|waf|autoreconf|autoconf|automake|configure|just|task|rake|mage|earthly|dagger|tup|premake5|xmake|gn|please|redo|invoke|nox|tox|doit|ant|mvn|mvnw|gradle|gradlew|sbt|mill|lein|clj|clojure|kotlinc|scala|scalac|groovy|javac|java|jar|javadoc|jshell|ktlint|detekt|checkstyle",
        "code see:build",
        "*",
        "_*",
    ),
    row(
        "gcc|g++|cc|c++|clang|clang++|ld|lld|mold|as|ar|ranlib|strip|nasm|tcc|emcc|em++|wasm-ld|objcopy|rustc|rustdoc|swiftc|ghc|ocamlc|ocamlopt|fpc|gfortran|dmd|ldc2|nim|crystal|v|odin|zig|tsc|vue-tsc|ttsc|tsgo|sass|lessc|stylus|protoc|buf|flatc|thrift|swig|bison|flex|yacc|lex|gperf|wasm-opt|wasm-pack|wasm-bindgen|wasm2wat|wat2wasm|wit-bindgen",
        "code",
        "*",
        "_*",
    ),
    row(
        "cargo|cross",
        "sub see:cargo",
        "+ -qvVh -Z: -C:_ -q -v --quiet --verbose --offline --locked --frozen --color: --config:! --version --help --list --manifest-path:r",
        "",
    ),
    row(
        "cargo build|cargo b|cargo check|cargo c|cargo test|cargo t|cargo run|cargo r|cargo bench|cargo clippy|cargo doc|cargo d|cargo rustc|cargo rustdoc|cargo fix|cargo nextest|cargo miri|cargo fuzz|cargo llvm-cov|cargo tarpaulin|cargo expand|cargo insta|cargo hack|cargo mutants|cargo criterion|cargo watch|cargo make|cargo xtask|cargo flamegraph|cargo asm|cargo bloat|cargo udeps|cargo machete|cargo deny|cargo audit|cargo outdated|cargo semver-checks|cargo public-api|cargo package|cargo msrv|cargo wasi|cargo component|cargo ndk|cargo lambda|cargo leptos|cargo tauri|cargo sqlx|cargo careful|cargo valgrind|cargo kani|cargo bolero|cargo afl|cargo hfuzz|cargo readme|cargo rdme|cargo sort|cargo spellcheck|cargo dist|cargo about|cargo release-plan|cargo embed|cargo flash|cargo espflash|cargo bootimage|cargo objcopy|cargo size|cargo nm|cargo +|cargo codspeed|cargo minimal-versions|cargo all-features|cargo zigbuild|cargo auditable|cargo cache|cargo geiger|cargo modules|cargo depgraph|cargo edit|cargo generate-rpm|cargo deb|cargo rail|cargo coverage|cargo dev|cargo docs-rs|cargo ci|cargo samply|cargo instruments|cargo show-asm|cargo nono|cargo no-std-check|cargo typify|cargo progenitor",
        "code",
        "*",
        "_*",
    ),
    row("cargo fmt", "code", "*", "_*"),
    row(
        "cargo tree|cargo metadata|cargo version|cargo help|cargo locate-project|cargo pkgid|cargo read-manifest|cargo verify-project|cargo report|cargo config",
        "",
        "*",
        "_*",
    ),
    row("cargo search|cargo info", "get:crates.io", "*", "_*"),
    row(
        "cargo add|cargo remove|cargo rm|cargo install|cargo uninstall|cargo update|cargo fetch|cargo vendor|cargo generate-lockfile|cargo binstall|cargo upgrade|cargo install-update",
        "install:crates.io",
        "*",
        "p*",
    ),
    row("cargo new|cargo init|cargo generate", "", "-q --quiet --lib --bin --name: --edition: --vcs:", "w"),
    row("cargo clean", "see:cargoclean", "*", "_*"),
    row(
        "cargo publish|cargo yank|cargo owner|cargo login|cargo logout|cargo release|cargo smart-release|cargo workspaces|cargo ws|cargo release-plz",
        "publish:crates.io",
        "*",
        "_*",
    ),
    row("rustup", "sub", "-qvh --verbose --quiet --version", ""),
    row("rustup show|rustup which|rustup doc|rustup help|rustup man|rustup check", "", "*", "_*"),
    row("rustup run", "code", "*", "_*"),
    row(
        "rustup update|rustup install|rustup toolchain|rustup target|rustup component|rustup default|rustup override|rustup self|rustup set|rustup uninstall|rustup completions",
        "see:rustup",
        "*",
        "_*",
    ),
    row(
        "rustfmt|cargo-fmt|gofmt|goimports|clang-format|swiftformat|shfmt|stylua|dprint|taplo|nixfmt|ktfmt|scalafmt|ocamlformat|ormolu|fourmolu|elm-format|terraform-fmt|buildifier|yamlfmt|mdformat|xmlformat|djlint|sqlfluff",
        "code",
        "*",
        "_*",
    ),
    row(
        "npm|pnpm|yarn|bun|npx|pnpx|bunx|yarnpkg|corepack|ni|nr|nx-cloud|deno|tnpm|cnpm",
        "see:npm",
        "*",
        "_*",
    ),
    row(
        "node|nodejs|ts-node|tsx|ts-node-dev|babel-node|esno|jiti|swc-node|coffee|electron|python|python2|python3|pypy|pypy3|ipython|perl|ruby|irb|php|lua|luajit|Rscript|R|julia|elixir|iex|erl|escript|ghci|runghc|swift|dart|flutter|racket|guile|sbcl|scheme|tclsh|wish|osascript|pwsh|powershell|octave|matlab|sage|gnuplot|nu|xonsh|mix",
        "see:interpreter",
        "*",
        "_*",
    ),
    row(
        "pip|pip3|pipx|uv|poetry|pipenv|conda|mamba|micromamba|pdm|hatch|rye|pixi|easy_install|uvx|pyenv|virtualenv|flit|maturin|build|setuptools",
        "see:pip",
        "*",
        "_*",
    ),
    row(
        "pytest|py.test|unittest|nose2|nosetests|coverage|mypy|pyright|basedpyright|ruff|flake8|pylint|black|isort|autopep8|yapf|bandit|pydocstyle|pyflakes|vulture|sphinx-build|mkdocs|jupyter|streamlit|flask|django-admin|uvicorn|gunicorn|hypercorn|celery|alembic|pre-commit|pyinstaller|cython|f2py|locust|behave|robot|scrapy|airflow|dbt|snakemake|nextflow|invoke-python|codespell|ty|zizmor|actionlint|yamllint|shellcheck|hadolint|markdownlint|markdownlint-cli2|vale|typos|cspell|alex|textlint|write-good|remark|proselint|lychee|linkchecker",
        "code",
        "*",
        "_*",
    ),
    row("go", "sub", "-C:_", ""),
    row("go build|go test|go run|go vet|go generate|go tool|go fix|go fmt", "code", "*", "_*"),
    row("go env", "see:goenv", "-json", "_*"),
    row("go version|go list|go doc|go help", "", "-mjsonueftd -m -json -f: -u -e -deps -test", "_*"),
    row("go get|go install|go mod|go work", "install:go", "*", "p*"),
    row("go clean", "", "*", "_*"),
    row(
        "golangci-lint|staticcheck|revive|gosec|govulncheck|ginkgo|gotestsum|dlv|air|ko|wire|mockgen|sqlc|templ|swag",
        "code",
        "*",
        "_*",
    ),
    row(
        "bundle|gem|bundler|composer|cpan|cpanm|luarocks|stack|cabal|opam|rebar3|hex|nuget|dotnet|paket|pod|carthage|swift-package|brew|port|apt|apt-get|aptitude|dpkg|dpkg-deb|rpm|yum|dnf|zypper|pacman|yay|paru|apk|emerge|snap|flatpak|nix|nix-env|nix-shell|nix-build|nixos-rebuild|guix|choco|scoop|winget|asdf|mise|rtx|nvm|n|fnm|volta|rbenv|jenv|sdk|pkg|pkg_add|conan|vcpkg|helm-repo|code-server-install|volta-install|proto",
        "see:packages",
        "*",
        "_*",
    ),
    // Tools of package scripts: they load configuration that is code.
    row(
        "eslint|jest|mocha|vitest|ava|tap|tape|jasmine|karma|nyc|c8|istanbul|prettier|rollup|webpack|webpack-cli|webpack-dev-server|vite|esbuild|parcel|swc|babel|tsup|tsdown|unbuild|microbundle|bili|ncc|pkg-bundle|gulp|grunt|browserify|uglifyjs|terser|postcss|tailwindcss|tailwind|stylelint|standard|xo|tslint|biome|oxlint|rome|knip|depcheck|madge|size-limit|bundlesize|publint|attw|api-extractor|typedoc|jsdoc|documentation|docsify|docusaurus|vitepress|vuepress|storybook|start-storybook|build-storybook|next|nuxt|nuxi|remix|astro|gatsby|svelte-kit|svelte-check|ng|nest|react-scripts|vue-cli-service|craco|expo|react-native|cypress|playwright|puppeteer|nightwatch|testcafe|wdio|lerna|nx|turbo|rush|changeset|changesets|lint-staged|husky|commitlint|commitizen|cz|conventional-changelog|auto-changelog|nodemon|pm2|forever|serve|http-server|live-server|browser-sync|concurrently|npm-run-all|npm-run-all2|run-s|run-p|run-z|cross-env-shell|dotenv|dotenv-cli|env-cmd|patch-package|simple-git-hooks|lefthook|is-ci|only-allow|zx|tsc-watch|tsc-alias|tspc|ttypescript|dts-bundle-generator|api-documenter|graphql-codegen|openapi-generator|prisma|typeorm|sequelize|knex|drizzle-kit|json-server|msw|pkgroll|wireit|moon|zshy|hereby|borp|tinybench|bench|benchmark|matcha|zuul|airtap|saucelabs|codecov|coveralls|nyc-report|eslint_d|prettierd|xtask|ordain-build|aegir|dumi|father|umi|max|hygen|plop|yo|standard-version|release-please|bumpp|syncpack-fix|ls-engines|npmignore|in-publish|not-in-publish|check-dts|dtslint|tsd|expect-type|check-export-map|node-gyp|node-pre-gyp|prebuild|prebuildify|prebuild-install|cmake-js|neon|napi|mkdocs-material|licensecheck|license-checker|ncu|npm-check-updates|npm-check|updates|taze|flow|flow-bin|rescript|elm|purs|spago|shadow-cljs|wasm-tools|jspm|snowpack|wmr|es-check|es-module-lexer|brfs|budo|watchify|chokidar|onchange|npm-watch|sinon|chai|proxyquire|electron-builder|electron-forge|electron-packager|capacitor|cap|cordova|ionic|remark-cli|doctoc|all-contributors|embedme|markdown-toc|remark-preset|lint-md|linkinator|blc|hint|lighthouse|lhci|pa11y|percy|chromatic|loki|backstop|ladle|histoire|styleguidist|fractal|sb|downlevel-dts|tsconfig-to-dual-package|tshy|resolve-tspaths|copyfiles-cli|dts-gen|jscodeshift|codemod|ast-grep|sg|semgrep|comby|bencher|borp-cli|snazzy|aud|evalmd|auto-changelog-cli|eclint|exports-check|npx-cli|prepack|c8-check|npm-scripts-info|rst2html|node-dev|ts-mocha|mochapack|electron-mocha|uvu|lab|poku|jsr|why-is-node-running|0x|clinic|autocannon|faucet|tap-spec|tap-min|tap-dot|multi-tape|browserstack-runner|karma-cli|qunit|testem|ember|broccoli|bower|jshint|jscs|jsonlint|eslint-doc-generator|markdown-link-check|eslint-remote-tester|rolldown|oxfmt|tstyche|rspack|rsbuild|rslib|farm|turbopack|tsm|stylus-lint|nano-staged|secretlint|ls-lint",
        "code",
        "*",
        "_*",
    ),
    row(
        "semantic-release|np|release-it|gh-pages|safe-publish-latest|surge|goreleaser|vsce|ovsx|jsr-publish|npm-publish|release-please-action",
        "code publish:npm",
        "*",
        "_*",
    ),
    row("twine", "publish:pypi", "*", "_*"),
    row("cross-env", "see:env", "", "$"),
    row("shx", "", "", "$"),
];
