using FsCheck;
using FsCheck.Fluent;

namespace Tunnel2.Protocol.Tests;

/// <summary>Runs a check over random values; a failure names the seed with which FsCheck repeats it.</summary>
internal static class Property
{
    public static Gen<byte[]> Bytes(int min, int max) =>
        from length in Gen.Choose(min, max)
        from bytes in Gen.Choose(0, 255).Select(value => (byte)value).ArrayOf(length)
        select bytes;

    public static Gen<uint> UInt32 =>
        from high in Gen.Choose(0, ushort.MaxValue)
        from low in Gen.Choose(0, ushort.MaxValue)
        select ((uint)high << 16) | (uint)low;

    public static Gen<ulong> UInt64 =>
        from high in UInt32
        from low in UInt32
        select ((ulong)high << 32) | low;

    public static Gen<string> Text(int max) =>
        from length in Gen.Choose(0, max)
        from characters in Gen.Elements('a', 'Z', '0', '-', ' ', 'é', 'ü', '–', '漢').ArrayOf(length)
        select new string(characters);

    public static void Holds<T>(Gen<T> values, Action<T> check, int count = 300) =>
        Check.One(Config.QuickThrowOnFailure.WithMaxTest(count), Prop.ForAll(values.ToArbitrary(), check));
}
