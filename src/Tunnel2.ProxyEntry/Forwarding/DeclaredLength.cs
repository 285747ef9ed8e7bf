using Tunnel2.Http1;
using Tunnel2.Http1.Syntax;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>What a response block says about the length of its body. The agent is not trusted to have checked it.</summary>
internal static class DeclaredLength
{
    /// <summary>The body's length is not declared: it ends where the stream does.</summary>
    public const long None = -1;

    private const int NameLength = 14; // "Content-Length"

    /// <summary>Reads it.</summary>
    /// <param name="head">The block.</param>
    /// <param name="length">The body's length in bytes, or <see cref="None"/>.</param>
    /// <returns>False when what is declared is no length, or two different ones.</returns>
    public static bool TryRead(scoped in HeaderBlock head, out long length)
    {
        length = None;
        foreach (var field in head.Fields)
        {
            if (field.Name.Length != NameLength || KnownFields.Classify(field.Name) != KnownField.ContentLength)
            {
                continue;
            }

            if (!ContentLengthSyntax.TryParse(field.Value, out var declared) || (length != None && length != declared))
            {
                return false;
            }

            length = declared;
        }

        return true;
    }
}
