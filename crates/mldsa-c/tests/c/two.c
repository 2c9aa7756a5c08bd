/* One program with this library and another Rust archive: both work, and panics of both are caught. */
#include <stdio.h>

#include "mldsa.h"

unsigned long other_sum(unsigned long count);
int other_catches(void);

int main(void) {
  if (mldsa_self_test() != MLDSA_STATUS_OK) return 1;
  if (other_sum(1000) != 499500) return 2;
  if (!other_catches()) return 3;
  printf("both\n");
  return 0;
}
