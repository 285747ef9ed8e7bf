using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>What the node of a session says of a connection that it did not take. Stateless.</summary>
internal static class NodeErrors
{
    /// <summary>The error of an answer; null: it is none.</summary>
    public static ProxyError? Of(scoped in HeaderBlock head)
    {
        foreach (var field in head.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name, "Tunnel2-Error"u8))
            {
                return Find(field.Value);
            }
        }

        return null;
    }

    /// <summary>A code that this release does not know is an error of the other node.</summary>
    private static ProxyError Find(ReadOnlySpan<byte> code)
    {
        foreach (var error in Enum.GetValues<ProxyError>())
        {
            if (Ascii.Equals(code, ProxyErrorCatalog.Get(error).Code))
            {
                return error;
            }
        }

        return ProxyError.Internal;
    }
}
