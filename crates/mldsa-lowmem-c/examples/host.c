/* Output on a host. */
#include <stdio.h>
#include <stdlib.h>

void print(const char *text);
void finish(int status);

void print(const char *text) { fputs(text, stdout); }
void finish(int status) { exit(status); }
