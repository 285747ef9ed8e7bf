using System.Text;

namespace Tunnel2.Inspection.Heads;

/// <summary>A field as it was on the wire.</summary>
/// <param name="Name">The name's bytes, in their case.</param>
/// <param name="Value">The value's bytes.</param>
internal readonly record struct HeadField(byte[] Name, byte[] Value)
{
    /// <summary>Whether it has a name, in any case.</summary>
    public bool Is(ReadOnlySpan<byte> name) => Ascii.EqualsIgnoreCase(Name, name);
}
