using System.Buffers;
using System.Runtime.CompilerServices;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>Recognises the fields of <see cref="FieldTable"/> by their names.</summary>
internal static class KnownFields
{
    /// <summary>Length of the longest known name in bytes: Proxy-Authentication-Info.</summary>
    public const int LongestName = 25;

    private const int Slots = 128;

    private static readonly SearchValues<byte> _plainName = SearchValues.Create(
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    // A perfect hash: no two names have the same slot, which the type initializer checks. So each name, known or not, costs one look-up and
    // at most one comparison.
    private static readonly Entry[] _slots = Fill(FieldTable.Rows);

    private static ReadOnlySpan<byte> Tunnel2Prefix => "tunnel2-"u8;

    private static ReadOnlySpan<byte> XTunnel2Prefix => "x-tunnel2-"u8;

    private static ReadOnlySpan<byte> XForwardedPrefix => "x-forwarded-"u8;

    /// <summary>The known field of <paramref name="name"/>, case-insensitively. Exact for all bytes, also for invalid names.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static KnownField Classify(ReadOnlySpan<byte> name)
    {
        if (name.Length < 2)
        {
            return KnownField.None;
        }

        ref readonly Entry entry = ref _slots[SlotOf(name)];
        return entry.Lower.Length == name.Length && AsciiCase.EqualsLower(name, entry.Lower) ? entry.Known : ClassifyRare(name);
    }

    /// <summary>
    /// Whether the field belongs to one connection and must never be forwarded (RFC 9110 section 7.6.1, and the Proxy-Auth fields, which
    /// are for the next proxy), or looks like one that does. Trailer is not one of them: trailers are forwarded, and so is their
    /// announcement.
    /// </summary>
    public static bool IsHopByHop(KnownField known) => known is KnownField.Connection or KnownField.TransferEncoding or KnownField.Upgrade
        or (>= KnownField.KeepAlive and <= KnownField.Http2Settings);

    /// <summary>Whether the field's value is evaluated while a head is parsed.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool IsEvaluated(KnownField known) => (uint)(known - 1) < (uint)KnownField.Upgrade;

    // The two factors were found by trying. If a new name collides, the first test that runs reports it.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int SlotOf(ReadOnlySpan<byte> name) => ((name.Length * 13) + (name[0] | 0x20) + ((name[^2] | 0x20) * 32)) & (Slots - 1);

    private static KnownField ClassifyRare(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        't' when name.Length > Tunnel2Prefix.Length && IsPrefix(name, Tunnel2Prefix, out _) => KnownField.Tunnel2,
        't' when name.Length == 17 => ClassifyLookalike(name),
        'c' when name.Length == 14 => ClassifyLookalike(name),
        'k' when name.Length == 10 => ClassifyLookalike(name),
        'h' when name.Length == 14 => ClassifyLookalike(name),
        'p' when name.Length is 16 or 18 or 19 or 25 => ClassifyLookalike(name),
        'x' when name.Length == 9 => ClassifyLookalike(name),
        'x' when name.Length > XForwardedPrefix.Length && IsPrefix(name, XForwardedPrefix, out bool isExact) =>
            isExact && ClassifyLookalike(name) == KnownField.None ? KnownField.XForwardedOther : KnownField.ForwardingLookalike,
        'x' when name.Length > XTunnel2Prefix.Length && IsPrefix(name, XTunnel2Prefix, out _) => KnownField.XTunnel2,
        _ => KnownField.None,
    };

    /// <summary>The field of <paramref name="name"/> if each sign in it except letters and digits were a hyphen.</summary>
    private static KnownField ClassifyLookalike(ReadOnlySpan<byte> name)
    {
        if (name.Length > LongestName || !name.ContainsAnyExcept(_plainName))
        {
            return KnownField.None;
        }

        Span<byte> plain = stackalloc byte[LongestName];
        plain = plain[..name.Length];
        for (int i = 0; i < name.Length; i++)
        {
            plain[i] = char.IsAsciiLetterOrDigit((char)name[i]) ? name[i] : (byte)'-';
        }

        ref readonly Entry entry = ref _slots[SlotOf(plain)];
        return AsciiCase.EqualsLower(plain, entry.Lower) ? entry.Lookalike : KnownField.None;
    }

    /// <summary>Whether <paramref name="name"/> begins with <paramref name="prefix"/>, with any sign in place of its hyphens.</summary>
    private static bool IsPrefix(ReadOnlySpan<byte> name, ReadOnlySpan<byte> prefix, out bool isExact)
    {
        isExact = true;
        for (int i = 0; i < prefix.Length; i++)
        {
            if (prefix[i] == (byte)'-' ? char.IsAsciiLetterOrDigit((char)name[i]) : char.ToLowerInvariant((char)name[i]) != prefix[i])
            {
                return false;
            }

            isExact &= prefix[i] != (byte)'-' || name[i] == (byte)'-';
        }

        return true;
    }

    private static Entry[] Fill(FieldRow[] rows)
    {
        var slots = new Entry[Slots];
        for (int i = 0; i < slots.Length; i++)
        {
            slots[i] = new Entry(KnownField.None, KnownField.None, []);
        }

        foreach (FieldRow row in rows)
        {
            if (row.Known == KnownField.None || row.Name is null)
            {
                continue;
            }

            byte[] name = System.Text.Encoding.ASCII.GetBytes(row.Name);
            ref Entry slot = ref slots[SlotOf(name)];
            slot = slot.Known == KnownField.None
                ? new Entry(row.Known, row.Lookalike, name)
                : throw new InvalidOperationException($"{row.Known} and {slot.Known} have the same slot: other factors are needed.");
        }

        return slots;
    }

    private readonly record struct Entry(KnownField Known, KnownField Lookalike, byte[] Lower);
}
