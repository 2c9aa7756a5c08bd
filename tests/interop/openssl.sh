#!/bin/sh
# Keys, signatures and mu between `mldsa` and the `openssl` command (3.5 or
# newer), in both directions, for three sets and three private-key forms; its
# certificates and its encrypted keys here.
#
#   OPENSSL=openssl MLDSA=target/release/mldsa tests/interop/openssl.sh
set -eu
OPENSSL=${OPENSSL:-openssl}
MLDSA=$(realpath "${MLDSA:?names the program}")
if ! "$OPENSSL" list -signature-algorithms 2>/dev/null | grep -q ML-DSA-65; then
    echo "not run: $OPENSSL has no ML-DSA"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
checks=0

# Ends the script unless the two files are equal.
same() {
    cmp "$1" "$2"
    checks=$((checks + 1))
}
# Ends the script unless the command does what it should.
yes() {
    "$@" >out.txt 2>&1 || { echo "failed: $*"; cat out.txt; exit 1; }
    checks=$((checks + 1))
}
no() {
    if "$@" >out.txt 2>&1; then echo "should have failed: $*"; exit 1; fi
    checks=$((checks + 1))
}

encrypted=true
"$MLDSA" inspect --help | grep -q -e --password-file || encrypted=false

head -c 100000 /dev/urandom >message
printf 'the password\r\nnot this' >password
printf other >other
long=$(head -c 255 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
for set in 44 65 87; do
    for form in seed:seed-only expanded:priv-only both:seed-priv; do
        ours=${form%%:*}
        theirs=${form##*:}

        # Their key here, our key there: the same public key, the same private
        # key, and the same file when we write their form from its seed.
        yes "$OPENSSL" genpkey -algorithm ML-DSA-$set -provparam ml-dsa.output_formats=$theirs -out theirs.pem
        yes "$OPENSSL" pkey -in theirs.pem -pubout -out theirs.pub
        yes "$MLDSA" pubkey theirs.pem --force -o pub.pem
        same pub.pem theirs.pub
        yes "$MLDSA" inspect theirs.pem
        grep -q "^form:  *$ours$" out.txt
        head -c 32 /dev/urandom >seed
        yes "$MLDSA" keygen --set $set --form $ours --seed-file seed --force -o ours.pem
        yes "$OPENSSL" genpkey -algorithm ML-DSA-$set -provparam ml-dsa.output_formats=$theirs \
            -pkeyopt "hexseed:$(od -An -v -tx1 seed | tr -d ' \n')" -out peer.pem
        same ours.pem peer.pem
        yes "$OPENSSL" pkey -in ours.pem -pubout -out ours.pub
        yes "$MLDSA" pubkey ours.pem --force -o pub.pem
        same pub.pem ours.pub

        # Its certificates: the key that is in them verifies.
        for type in PEM DER; do
            yes "$OPENSSL" req -x509 -new -key theirs.pem -subj "/O=interop/CN=$set" -days 1 \
                -config /dev/null -outform $type -out theirs.crt
            yes "$MLDSA" pubkey theirs.crt --force -o pub.pem
            same pub.pem theirs.pub
            yes "$MLDSA" sign -k theirs.pem --force -o b.sig message
            yes "$MLDSA" verify -k theirs.crt -s b.sig message
            no "$MLDSA" verify -k theirs.crt -s b.sig other
            no "$MLDSA" sign -k theirs.crt --force -o b.sig message
        done
        # With what it says of itself before the PEM.
        yes "$OPENSSL" x509 -in theirs.crt -text -out text.crt
        yes "$MLDSA" pubkey text.crt --force -o pub.pem
        same pub.pem theirs.pub

        # Its encrypted keys: what the program can read gives the same key, anything
        # else is rejected and called what it is.
        for how in "" "-v2 aes-128-cbc -v2prf hmacWithSHA512 -iter 1000" \
            "-scrypt -scrypt_N 1024 -scrypt_r 8 -scrypt_p 2" \
            "-v1 PBE-SHA1-3DES" "-v2 des3" "-v2prf hmacWithSHA1"; do
            for type in PEM DER; do
                yes "$OPENSSL" pkcs8 -topk8 -in theirs.pem $how -passout "pass:the password" \
                    -outform $type -out encrypted
                no "$MLDSA" pubkey encrypted --force -o pub.pem
                grep -q "an encrypted private key" out.txt
                "$encrypted" || continue
                case $how in
                *-v1* | *des3* | *SHA1*)
                    no "$MLDSA" pubkey encrypted --password-file password --force -o pub.pem
                    grep -q "an encrypted private key" out.txt
                    ;;
                *)
                    yes "$MLDSA" pubkey encrypted --password-file password --force -o pub.pem
                    same pub.pem theirs.pub
                    no "$MLDSA" pubkey encrypted --password-file other --force -o pub.pem
                    grep -q "wrong password" out.txt
                    ;;
                esac
            done
        done

        for key in theirs ours; do
            for ctx in "" 6e6574776f726b "$long"; do
                their_ctx=${ctx:+-pkeyopt hexcontext-string:$ctx}
                our_ctx=${ctx:+--ctx-hex $ctx}
                # Deterministic signatures are equal byte for byte.
                yes "$OPENSSL" pkeyutl -sign -rawin -inkey $key.pem -in message $their_ctx \
                    -pkeyopt deterministic:1 -out a.sig
                yes "$MLDSA" sign -k $key.pem $our_ctx --deterministic --force -o b.sig message
                same a.sig b.sig
                # Hedged ones verify on the other side, and under nothing else.
                yes "$OPENSSL" pkeyutl -sign -rawin -inkey $key.pem -in message $their_ctx -out a.sig
                yes "$MLDSA" verify -k $key.pub -s a.sig $our_ctx message
                no "$MLDSA" verify -k $key.pub -s a.sig $our_ctx other
                no "$MLDSA" verify -k $key.pub -s a.sig --ctx-hex 00 message
                yes "$MLDSA" sign -k $key.pem $our_ctx --force -o b.sig message
                yes "$OPENSSL" pkeyutl -verify -rawin -pubin -inkey $key.pub -in message $their_ctx -sigfile b.sig
                no "$OPENSSL" pkeyutl -verify -rawin -pubin -inkey $key.pub -in other $their_ctx -sigfile b.sig
                # mu computed here, signed and verified there, and back.
                yes "$MLDSA" mu -k $key.pub $our_ctx --raw --force -o mu message
                yes "$OPENSSL" pkeyutl -sign -rawin -inkey $key.pem -in mu -pkeyopt mu:1 -out a.sig
                yes "$MLDSA" verify -k $key.pub -s a.sig $our_ctx message
                yes "$MLDSA" sign -k $key.pem --mu --force -o b.sig mu
                yes "$OPENSSL" pkeyutl -verify -rawin -pubin -inkey $key.pub -in mu -pkeyopt mu:1 -sigfile b.sig
                yes "$OPENSSL" pkeyutl -verify -rawin -pubin -inkey $key.pub -in message $their_ctx -sigfile b.sig
            done
        done
    done
done
"$encrypted" || echo "not run: encrypted keys, which this mldsa does not read"
"$OPENSSL" version
echo "$checks checks passed"
