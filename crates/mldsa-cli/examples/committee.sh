#!/bin/sh
# Four members, each in processes of its own, make one decision with four commands each. One of them is
# killed while it signs, and signs again; one does not sign.
#
#     cargo build --release -p mldsa-cli
#     MLDSA=target/release/mldsa sh crates/mldsa-cli/examples/committee.sh
set -eu
mldsa=$(realpath "${MLDSA:-$(command -v mldsa)}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo "what is decided" >payload

member() { # COMMAND N OPTIONS..: in a subshell
    command=$1 n=$2
    shift 2
    exec "$mldsa" aggregate "$command" --store "member-$n" "$@" >"$command-$n"
}
sign() {
    member sign "$1" --content slot-7 --payload payload --attempt-timeout 5 --out "certificate-$1"
}
all() { # waits for these processes, which have to succeed
    for process; do wait "$process"; done
}

processes=
for n in 0 1 2 3; do
    member join $n --committee committee --id m$n --members m0,m1,m2,m3 --content slot-7 --ctx DEMO \
        --attempts 64 &
    processes="$processes $!"
done
all $processes

# The members compare the digest over another channel.
for n in 0 1 2 3; do
    (member status $n)
    (member agree $n --expect-roots "$(sed -n 's/^roots: //p' status-0)")
done

length=$(wc -c <member-1/guard-0.log)
sign 0 &
processes=$!
sign 2 &
processes="$processes $!"
sign 1 &
killed=$!
# After its journal has the commitment.
while [ "$(wc -c <member-1/guard-0.log)" -eq "$length" ] && kill -0 $killed; do :; done
kill -9 $killed || true
wait $killed || true
rm -f certificate-1
sign 1 &
all $processes $!

# A verifier has the identity from a source that it trusts.
identity=$(sed -n 's/^committee: //p' status-0)
for n in 0 1 2; do
    "$mldsa" aggregate verify --committee committee --store verifier --identity "$identity" \
        --certificate certificate-$n --content slot-7 --payload payload --ctx DEMO
done
