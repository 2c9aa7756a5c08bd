// The header alone, in C++11.
#include "mldsa.h"

int main() { return mldsa_abi_version() == MLDSA_ABI_VERSION ? 0 : 1; }
