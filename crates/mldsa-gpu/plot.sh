#!/bin/sh
# plot.sh TABLE SET: writes an SVG of the lines that `rates` printed: signatures a second by items in
# a batch, on the device and on all threads of the CPU, for one parameter set. The first line of the
# table names GPU, CPU and date.
set -eu
awk -F '\t' -v set="ML-DSA-$2" '
function x(items) { return 80 + 520 * log(items) / log(262144) }
function y(rate) { return 360 - 300 * log(rate / 0.001) / log(30000) }
function text(left, top, anchor, words) {
    printf "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", left, top, anchor, words
}
BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 420\" font-family=\"sans-serif\" font-size=\"13\">"
    print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    text(80, 26, "start", "Millions of signatures a second by signatures at a time, " set)
    for (n = 1; n <= 262144; n *= 4) {
        printf "<path d=\"M%.0f 60V360\" stroke=\"#ddd\"/>\n", x(n)
        text(x(n), 380, "middle", n)
    }
    for (n = 0.001; n < 20; n *= 10) {
        printf "<path d=\"M80 %.0fH600\" stroke=\"#ddd\"/>\n", y(n)
        text(72, y(n) + 4, "end", n)
    }
    text(340, 405, "middle", "signatures at a time (line: one batch; points: many batches)")
    split("#1b6ca8 #c8553d", color, " ")
}
NR == 1 {
    sub(/^# */, "")
    sub(/: rates .*/, "")
    text(80, 46, "start", $0)
}
$1 == set && $3 == "device, filled before" {
    n = $2 == "prepared" ? 1 : 2
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x($4), y($7), color[n]
    last[n] = $7
}
$1 == set && $3 == "device, one batch" {
    n = $2 == "prepared" ? 1 : 2
    path[n] = path[n] (path[n] ? "L" : "M") sprintf("%.1f %.1f", x($4), y($4 / $5))
}
$1 == set && $3 == "CPU, all threads" {
    n = $2 == "prepared" ? 1 : 2
    cpu[n] = $7
}
END {
    split("prepared keys|a key for each signature", keys, "|")
    for (n = 1; n <= 2; n++) {
        printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", path[n], color[n]
        printf "<path d=\"M80 %.1fH600\" stroke=\"%s\" stroke-dasharray=\"5 4\"/>\n", y(cpu[n]), color[n]
        at = y(last[n]) + (n == 1 ? 0 : 8)
        text(608, at, "start", "device, " keys[n])
        at = y(cpu[n]) + 8
        text(608, at, "start", "CPU, " keys[n])
    }
    print "</svg>"
}' "$1"
