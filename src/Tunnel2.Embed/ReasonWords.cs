using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Embed;

/// <summary>Why a tunnel is not open, in words for who writes the program: the agent's own name flags of a command line.</summary>
internal static class ReasonWords
{
    /// <summary>One line.</summary>
    public static string Of(ConnectionEnd end)
    {
        if (end.Rejection is not { } rejection)
        {
            return end.Message;
        }

        string? words = rejection.Reason switch
        {
            RejectionReason.Unauthorized =>
                "The server does not accept the token. Check the option Token, or ClientCertificateFile, and that the server knows it",
            RejectionReason.NameTaken => "The name is taken by another agent. Choose another (option Name), or stop that agent",
            RejectionReason.NameNotAllowed => "The server does not allow this name. Choose another (option Name)",
            RejectionReason.TlsRequired =>
                "The server expects TLS. Write it as https://host or tls://host:port, and set ServerFingerprints or ServerCaFile where its "
                    + "certificate is not a public one",
            _ => null,
        };
        return words is null ? rejection.Message
            : rejection.Text.Length == 0 ? $"{words} [{rejection.Code}]."
            : $"{words} [{rejection.Code}: {rejection.Text}].";
    }
}
