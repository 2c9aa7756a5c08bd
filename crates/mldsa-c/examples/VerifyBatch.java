// Verifies a batch through the C library with Java's foreign function interface (Java 22 or newer):
//
//   java --enable-native-access=ALL-UNNAMED VerifyBatch.java PREFIX/lib/libmldsa_c.so

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

final class VerifyBatch {
  static final int SET = 65;
  static final int COUNT = 21;
  static final int ABI_VERSION = 2;
  static final int REJECTED = 40;

  final SymbolLookup library;

  VerifyBatch(String file, Arena arena) {
    library = SymbolLookup.libraryLookup(Path.of(file), arena);
  }

  /** A function of the library that returns a 32-bit number. */
  MethodHandle function(String name, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
  }

  void free(String name, MemorySegment handle) throws Throwable {
    Linker.nativeLinker()
        .downcallHandle(library.findOrThrow(name), FunctionDescriptor.ofVoid(ADDRESS))
        .invoke(handle);
  }

  static void require(Object status) {
    if ((int) status != 0) {
      throw new IllegalStateException("status " + status);
    }
  }

  public static void main(String[] arguments) throws Throwable {
    try (Arena arena = Arena.ofConfined()) {
      new VerifyBatch(arguments[0], arena).run(arena);
    }
  }

  void run(Arena arena) throws Throwable {
    if ((int) function("mldsa_abi_version").invoke() != ABI_VERSION) {
      throw new IllegalStateException("the library has another version of the interface");
    }
    MethodHandle generate = function("mldsa_private_key_generate", JAVA_INT, ADDRESS);
    MethodHandle derive = function("mldsa_private_key_public_key", ADDRESS, ADDRESS);
    MethodHandle encode = function("mldsa_public_key_bytes", ADDRESS, ADDRESS, ADDRESS);
    MethodHandle sign =
        function("mldsa_sign", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    MethodHandle create = function("mldsa_batch_new", JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);
    MethodHandle verify =
        function("mldsa_batch_verify", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);

    MemorySegment message = arena.allocateFrom("block 7", StandardCharsets.US_ASCII);
    MemorySegment handle = arena.allocate(ADDRESS);
    MemorySegment length = arena.allocate(JAVA_LONG);
    // mldsa_item: three pairs of pointer and length.
    MemorySegment items = arena.allocate(COUNT * 6L * 8, 8);
    for (int i = 0; i < COUNT; i++) {
      require(generate.invoke(SET, handle));
      MemorySegment key = handle.get(ADDRESS, 0);
      require(derive.invoke(key, handle));
      MemorySegment publicKey = handle.get(ADDRESS, 0);
      MemorySegment encoded = arena.allocate(1952);
      length.set(JAVA_LONG, 0, encoded.byteSize());
      require(encode.invoke(publicKey, encoded, length));
      MemorySegment signature = arena.allocate(3309);
      length.set(JAVA_LONG, 0, signature.byteSize());
      require(sign.invoke(key, message, message.byteSize(), MemorySegment.NULL, 0L, MemorySegment.NULL, signature, length));
      if (i == 7) {
        signature.set(JAVA_BYTE, 100, (byte) (signature.get(JAVA_BYTE, 100) ^ 1));
      }
      MemorySegment[] parts = {encoded, message, signature};
      for (int part = 0; part < 3; part++) {
        items.set(ADDRESS, i * 48L + part * 16L, parts[part]);
        items.set(JAVA_LONG, i * 48L + part * 16L + 8, parts[part].byteSize());
      }
      free("mldsa_public_key_free", publicKey);
      free("mldsa_private_key_free", key);
    }

    require(create.invoke(SET, 1, 8L << 20, handle));
    MemorySegment batch = handle.get(ADDRESS, 0);
    MemorySegment verdicts = arena.allocate(COUNT);
    int status = (int) verify.invoke(batch, MemorySegment.NULL, 0L, items, (long) COUNT, verdicts);
    int valid = 0;
    for (int i = 0; i < COUNT; i++) {
      valid += verdicts.get(JAVA_BYTE, i) == 1 ? 1 : 0;
    }
    free("mldsa_batch_free", batch);
    System.out.println(valid + " of " + COUNT + " valid; item 7: status " + verdicts.get(JAVA_BYTE, 7));
    if (status != REJECTED || valid != COUNT - 1 || verdicts.get(JAVA_BYTE, 7) != 39) {
      throw new IllegalStateException("a wrong verdict");
    }
  }
}
