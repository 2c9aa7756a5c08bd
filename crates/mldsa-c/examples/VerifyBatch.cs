// Verifies a batch through the C library with P/Invoke (.NET 10 or newer):
//
//   LD_LIBRARY_PATH=PREFIX/lib dotnet run VerifyBatch.cs

using System;
using System.Runtime.InteropServices;
using System.Text;

static class VerifyBatch
{
    const string Library = "mldsa_c";
    const uint Set = 65, AbiVersion = 2, ThreadsCalling = 1;
    const int Count = 21, KeySize = 1952, SignatureSize = 3309, Rejected = 40, ChallengeMismatch = 39;

    // mldsa_packed_item: offsets into one buffer and sizes.
    [StructLayout(LayoutKind.Sequential)]
    struct Item
    {
        public uint Key, KeySize, Message, MessageSize, Signature, SignatureSize;
    }

    [DllImport(Library)]
    static extern uint mldsa_abi_version();

    [DllImport(Library)]
    static extern int mldsa_private_key_generate(uint set, out IntPtr key);

    [DllImport(Library)]
    static extern void mldsa_private_key_free(IntPtr key);

    [DllImport(Library)]
    static extern int mldsa_private_key_public_key(IntPtr key, out IntPtr publicKey);

    [DllImport(Library)]
    static extern int mldsa_public_key_bytes(IntPtr key, byte[] buffer, ref UIntPtr size);

    [DllImport(Library)]
    static extern void mldsa_public_key_free(IntPtr key);

    [DllImport(Library)]
    static extern int mldsa_sign(IntPtr key, byte[] message, UIntPtr messageSize, byte[] context,
        UIntPtr contextSize, byte[] randomness, byte[] signature, ref UIntPtr signatureSize);

    [DllImport(Library)]
    static extern int mldsa_batch_new(uint set, uint threads, UIntPtr cacheBytes, out IntPtr batch);

    [DllImport(Library)]
    static extern void mldsa_batch_free(IntPtr batch);

    [DllImport(Library)]
    static extern int mldsa_batch_verify_packed(IntPtr batch, byte[] context, UIntPtr contextSize,
        byte[] data, UIntPtr dataSize, Item[] items, UIntPtr count, byte[] verdicts);

    static UIntPtr Size(long size)
    {
        return (UIntPtr)(ulong)size;
    }

    static void Require(int status)
    {
        if (status != 0)
        {
            throw new InvalidOperationException("status " + status);
        }
    }

    static int Main()
    {
        if (mldsa_abi_version() != AbiVersion)
        {
            throw new InvalidOperationException("the library has another version of the interface");
        }
        byte[] message = Encoding.ASCII.GetBytes("block 7");
        byte[] key = new byte[KeySize], signature = new byte[SignatureSize];
        byte[] data = new byte[message.Length + Count * (KeySize + SignatureSize)];
        var items = new Item[Count];
        message.CopyTo(data, 0);
        int end = message.Length;
        for (int i = 0; i < Count; i++)
        {
            IntPtr privateKey, publicKey;
            UIntPtr size = Size(KeySize);
            Require(mldsa_private_key_generate(Set, out privateKey));
            Require(mldsa_private_key_public_key(privateKey, out publicKey));
            Require(mldsa_public_key_bytes(publicKey, key, ref size));
            size = Size(SignatureSize);
            Require(mldsa_sign(privateKey, message, Size(message.Length), null, Size(0), null, signature, ref size));
            mldsa_public_key_free(publicKey);
            mldsa_private_key_free(privateKey);
            if (i == 7)
            {
                signature[100] ^= 1;
            }
            items[i] = new Item
            {
                Key = (uint)end, KeySize = KeySize, Message = 0, MessageSize = (uint)message.Length,
                Signature = (uint)(end + KeySize), SignatureSize = SignatureSize
            };
            key.CopyTo(data, end);
            signature.CopyTo(data, end + KeySize);
            end += KeySize + SignatureSize;
        }

        IntPtr batch;
        byte[] verdicts = new byte[Count];
        Require(mldsa_batch_new(Set, ThreadsCalling, Size(8 << 20), out batch));
        int status = mldsa_batch_verify_packed(batch, null, Size(0), data, Size(data.Length), items, Size(Count), verdicts);
        mldsa_batch_free(batch);
        int valid = 0;
        foreach (byte verdict in verdicts)
        {
            valid += verdict == 1 ? 1 : 0;
        }
        Console.WriteLine(valid + " of " + Count + " valid; item 7: status " + verdicts[7]);
        return status == Rejected && valid == Count - 1 && verdicts[7] == ChallengeMismatch ? 0 : 1;
    }
}
