using Tunnel2.Client.Core.Session;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Session;

public sealed class SessionEndWordsTests
{
    [Fact]
    public void Every_end_of_a_session_is_a_sentence()
    {
        foreach (SessionEndReason reason in Enum.GetValues<SessionEndReason>())
        {
            string words = SessionEndWords.For(new UplinkEnd(reason, ProtocolError.None, true, "why it was."));
            Assert.Matches(@"^[A-Z].*[.?]$", words);
            Assert.DoesNotContain("..", words, StringComparison.Ordinal);
        }
    }
}
