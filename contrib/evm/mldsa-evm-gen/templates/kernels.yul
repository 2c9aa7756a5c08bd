$LOAD
switch byte(0, calldataload(0))
case 0 { calldatacopy($Z, 1, 8192) ntt($Z) return($Z, 8192) }
case 1 { calldatacopy($Z, 1, 8192) $INVERSE intt($Z) return($Z, 8192) }
default {
    calldatacopy($DATA, 1, $LEN)
    calldatacopy($Z, $START, $VECTOR)
    $TRANSFORMS
    product($W)
    $INVERSE
    intt($W)
    return($W, 8192)
}
$FUNCTIONS
