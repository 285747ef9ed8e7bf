using System.Text;

namespace Tunnel2.TestUtilities;

/// <summary>A body that was read as far as it came.</summary>
/// <param name="Bytes">The content, without the framing.</param>
/// <param name="Ending"><see cref="ConnectionEnding.Complete"/>, or what cut it short.</param>
/// <param name="Trailers">The fields after the last chunk.</param>
public sealed record RawHttpBody(
    byte[] Bytes, ConnectionEnding Ending, IReadOnlyList<KeyValuePair<string, string>> Trailers)
{
    /// <summary>The content as Latin-1.</summary>
    public string Text => Encoding.Latin1.GetString(Bytes);
}
