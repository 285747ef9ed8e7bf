using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Sharing;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Sharing;

public sealed class SharedDocumentsTests
{
    [Fact]
    public async Task Questions_that_visitors_cause_leave_the_database_to_other_calls()
    {
        var clock = new ManualTimeProvider();
        var store = new SlowStore();
        var shared = new SharedDocuments(store, clock, NullLogger<SharedDocuments>.Instance);
        var questions = Enumerable.Range(0, 50)
            .Select(i => shared.FindAsync("kind", $"{i}", TestContext.Current.CancellationToken)).ToArray();
        Assert.Equal(1, store.Asked);

        // Each gets its turn, or an answer when it has waited for long enough.
        store.Answer();
        await questions[0];
        await WaitSignal.UntilAsync(() => store.Asked == 2, "the next one is asked");
        clock.Advance(TimeSpan.FromSeconds(1));
        await WaitSignal.UntilAsync(
            () => questions.Count(static question => question.IsFaulted) == questions.Length - 2, "the others are refused");
        Assert.Equal(2, store.Asked);
        Assert.All(
            questions.Where(static question => question.IsFaulted),
            static question => Assert.IsType<SharedUnavailableException>(question.Exception!.InnerException));
        store.Answer();
    }

    /// <summary>Answers questions for values when the test says so, and takes nothing else.</summary>
    private sealed class SlowStore : ISharedStore
    {
        private TaskCompletionSource<byte[]?> _answer = New();
        private int _asked;

        public int Asked => Volatile.Read(ref _asked);

        public void Answer() => Interlocked.Exchange(ref _answer, New()).SetResult(null);

        public Task<byte[]?> FindLeaseAsync(string kind, string key, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _asked);
            return Volatile.Read(ref _answer).Task;
        }

        public Task<SharedSet?> ReadSharedAsync(string kind, int most, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task FillSharedAsync(
            string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<SharedOutcome> AddSharedAsync(
            string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<SharedOutcome> PutSharedAsync(
            string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<SharedOutcome> RemoveSharedAsync(
            string kind, Guid generation, string key, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task TouchSharedAsync(
            string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<bool> TakeLeaseAsync(
            string kind, string key, byte[] value, TimeSpan life, bool isForced, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task ReleaseLeaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        private static TaskCompletionSource<byte[]?> New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
